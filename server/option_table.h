// The one table of options: what the parser accepts, what --help prints.
//
// Threads: constant data. A row's `apply` puts one given value into Options, or says what is wrong
// with it.
#pragma once

#include <span>
#include <string>

#include "server/options.h"

namespace podcache::server {

using ApplyOption = bool (*)(Options& options, const std::string& value, std::string& error);

struct OptionRow {
  const char* names;         // "-p,--port"; a long name alone for our own.
  const char* value;         // "num"; nullptr for a switch.
  const char* default_text;  // nullptr for a switch.
  const char* help;          // nullptr: understood, but not shown (refused, or without effect).
  ApplyOption apply;
};

std::span<const OptionRow> OptionRows();

// One of -o's comma-separated list, `name` or `name=value`.
struct SuboptionRow {
  const char* name;
  const char* value;  // nullptr: takes none.
  const char* default_text;
  const char* help;
  ApplyOption apply;
};

std::span<const SuboptionRow> SuboptionRows();

// The whole list given to one -o.
bool ApplySuboptions(Options& options, const std::string& list, std::string& error);

// What --help prints.
std::string HelpText();

}  // namespace podcache::server
