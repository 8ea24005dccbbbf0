#include "operator/ctl/options.h"

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <sstream>

#include "common/base/version.h"
#include "operator/api/v1alpha1/quantity.h"

namespace podcache::control {

namespace {

constexpr char kAdminSocketInContainer[] = "unix:/run/podcache/admin.sock";
constexpr char kFooter[] =
    "\nExit codes: 0 done, 1 refused, 2 wrong usage, 3 nobody answered in time.\n"
    "Sizes are bytes or take a suffix: Ki Mi Gi Ti (powers of 1024), k M G T (powers of 1000).";

std::string CheckSize(const std::string& text) {
  return ParseBytes(text)
             ? ""
             : "'" + text + "' is no size above 0 and up to 64Ti, such as 256Mi, 1.5Gi or 500M";
}

// Builds the commands; what they set lives in `options`, what needs conversion beside it.
class Parser {
 public:
  explicit Parser(const std::string& program)
      : is_plugin_(program.substr(program.rfind('/') + 1).starts_with("kubectl-")),
        app_("Look at a running Podcache server and change its memory and threads while it serves.",
             is_plugin_ ? "kubectl podcache" : "podcachectl") {
    app_.footer(kFooter);
    app_.require_subcommand(1);
    app_.set_version_flag("--version", std::string(Version()));
    AddCommonOptions();
    AddReadingCommands();
    AddChangingCommands();
  }

  ParsedOptions Parse(std::vector<std::string> arguments) {
    ParsedOptions result;
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back.
    try {
      app_.parse(arguments);
      if (!size_.empty()) options_.memory_bytes = *ParseBytes(size_);
      options_.interval =
          std::chrono::milliseconds(static_cast<std::int64_t>(interval_seconds_ * 1000));
      options_.timeout = std::chrono::seconds(timeout_seconds_);
      options_.delay = std::chrono::seconds(delay_seconds_);
      Validate();
      result.options = options_;
      result.run = true;
    } catch (const CLI::ParseError& error) {
      std::ostringstream out;
      std::ostringstream problem;
      const bool asked_for = app_.exit(error, out, problem) == 0;
      result.exit_code = asked_for ? kExitOk : kExitUsage;
      result.text = asked_for ? out.str() : problem.str();
    }
    return result;
  }

 private:
  CLI::App* Command(CLI::App* parent, const char* name, const char* help,
                    std::optional<Verb> verb) {
    CLI::App* command = parent->add_subcommand(name, help);
    command->fallthrough();  // Common options may stand behind the command.
    if (verb) command->callback([this, verb] { options_.verb = *verb; });
    return command;
  }

  void AddCommonOptions() {
    address_ = app_.add_option("-a,--address", options_.address,
                               "Admin address of the server: host:port or unix:PATH")
                   ->capture_default_str();
    pod_ = app_.add_option(
        "--pod", options_.pod,
        "Pod whose cache is meant: runs this tool in its container through kubectl exec");
    app_.add_option("-n,--namespace", options_.name_space,
                    "Namespace of the pod (default: kubectl's)");
    app_.add_option("-c,--container", options_.container, "Container of the cache")
        ->capture_default_str();
    app_.add_option("--context", options_.context, "kubectl's context");
    app_.add_option("--kubeconfig", options_.kubeconfig, "kubectl's configuration file");
    app_.add_option("-o,--output", output_, "Form of the output: text or json")
        ->check(CLI::IsMember({"text", "json"}))
        ->capture_default_str();
    address_->excludes(pod_);
  }

  void AddReadingCommands() {
    Command(&app_, "info", "What the server is, where it runs and how it was sized", Verb::kInfo);
    Command(&app_, "stats", "Counters and gauges of the cache", Verb::kStats);
    CLI::App* get = Command(&app_, "get", "Show a setting: memory or threads", std::nullopt);
    get->require_subcommand(1);
    Command(get, "memory", "Memory asked for and in force", Verb::kGetMemory);
    Command(get, "threads", "Worker threads asked for and running", Verb::kGetThreads);
    CLI::App* top = Command(&app_, "top", "Watch the cache at work until interrupted", Verb::kTop);
    top->add_option("-i,--interval", interval_seconds_, "Time between two lines, in seconds")
        ->check(CLI::Range(0.1, 3600.0))
        ->capture_default_str();
    top->add_flag("--once", options_.once,
                  "One line, with averages since the server started, then exit");
    CLI::App* status = Command(
        &app_, "status", "The CacheSidecars and the pods not yet at their size, through kubectl",
        Verb::kStatus);
    status->add_flag("-A,--all-namespaces", options_.all_namespaces, "Of all namespaces");
  }

  void AddChangingCommands() {
    CLI::App* set = Command(
        &app_, "set", "Change a setting while the server serves: memory or threads", std::nullopt);
    set->require_subcommand(1);
    CLI::App* memory = Command(
        set, "memory", "Resize the memory limit and wait until it is in force", Verb::kSetMemory);
    memory->add_option("size", size_, "New limit, for example 256Mi")->required()->check(CheckSize);
    CLI::App* threads =
        Command(set, "threads", "Change the number of worker threads", Verb::kSetThreads);
    threads->add_option("count", options_.threads, "New number of threads")
        ->required()
        ->check(CLI::Range(1U, 65535U));
    for (CLI::App* change : {memory, threads}) {
      change->add_flag("--no-wait", no_wait_, "Return as soon as the server accepted the change");
      change->add_option("--timeout", timeout_seconds_, "How long to wait for it, in seconds")
          ->check(CLI::Range(1, 86400))
          ->capture_default_str();
    }
    CLI::App* flush = Command(&app_, "flush", "Drop every item stored before now", Verb::kFlush);
    flush
        ->add_option("--delay", delay_seconds_,
                     "Drop what was stored before now + this many seconds, at that time")
        ->check(CLI::Range(0, 30 * 86400))
        ->capture_default_str();
  }

  void Validate() {
    options_.json = output_ == "json";
    options_.wait = !no_wait_;
    const bool needs_server = options_.verb != Verb::kStatus;
    if (is_plugin_ && needs_server && pod_->count() == 0 && address_->count() == 0) {
      throw CLI::ValidationError(
          "--pod",
          "which pod? Give --pod NAME, and -n NAMESPACE if it is not kubectl's current one");
    }
    if (!needs_server && pod_->count() > 0) {
      throw CLI::ValidationError("--pod", "status is about a whole namespace");
    }
  }

  const bool is_plugin_;
  CLI::App app_;
  CtlOptions options_;
  CLI::Option* address_ = nullptr;
  CLI::Option* pod_ = nullptr;
  std::string output_ = "text";
  std::string size_;
  bool no_wait_ = false;
  double interval_seconds_ = 1;
  int timeout_seconds_ = 300;
  int delay_seconds_ = 0;
};

}  // namespace

ParsedOptions ParseOptions(const std::string& program, const std::vector<std::string>& arguments) {
  return Parser(program).Parse(arguments);
}

std::vector<std::string> ArgumentsInContainer(const CtlOptions& options) {
  std::vector<std::string> result = {"--address", kAdminSocketInContainer};
  const auto add = [&](std::initializer_list<std::string> words) {
    result.insert(result.end(), words);
  };
  if (options.json) add({"--output", "json"});
  switch (options.verb) {
    case Verb::kInfo:
      add({"info"});
      break;
    case Verb::kStats:
      add({"stats"});
      break;
    case Verb::kGetMemory:
      add({"get", "memory"});
      break;
    case Verb::kGetThreads:
      add({"get", "threads"});
      break;
    case Verb::kSetMemory:
      add({"set", "memory", std::to_string(options.memory_bytes)});
      break;
    case Verb::kSetThreads:
      add({"set", "threads", std::to_string(options.threads)});
      break;
    case Verb::kTop:
      add({"top", "--interval",
           std::to_string(static_cast<double>(options.interval.count()) / 1000)});
      if (options.once) add({"--once"});
      break;
    case Verb::kFlush:
      add({"flush", "--delay", std::to_string(options.delay.count())});
      break;
    case Verb::kStatus:
      break;
  }
  if (options.verb == Verb::kSetMemory || options.verb == Verb::kSetThreads) {
    add({"--timeout", std::to_string(options.timeout.count())});
    if (!options.wait) add({"--no-wait"});
  }
  return result;
}

}  // namespace podcache::control
