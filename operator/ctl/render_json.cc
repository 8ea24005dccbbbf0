// RenderJson of render.h. Protobuf's own JSON writes 64-bit numbers as strings, which every reader
// would have to undo.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>
#include <google/protobuf/util/time_util.h>

#include <nlohmann/json.hpp>

#include "operator/ctl/render.h"

namespace podcache::control {

namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Json = nlohmann::ordered_json;

Json ToJson(const Message& message);

Json FieldToJson(const Message& message, const FieldDescriptor* field) {
  const google::protobuf::Reflection* reflection = message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection->GetUInt64(message, field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection->GetUInt32(message, field);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection->GetInt64(message, field);
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection->GetInt32(message, field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection->GetDouble(message, field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection->GetFloat(message, field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->GetBool(message, field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection->GetEnum(message, field)->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection->GetString(message, field);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(reflection->GetMessage(message, field));
  }
  return nullptr;
}

Json ToJson(const Message& message) {
  const google::protobuf::Descriptor* type = message.GetDescriptor();
  if (type == google::protobuf::Duration::descriptor()) {
    const auto& duration = static_cast<const google::protobuf::Duration&>(message);
    return static_cast<double>(duration.seconds()) + static_cast<double>(duration.nanos()) / 1e9;
  }
  if (type == google::protobuf::Timestamp::descriptor()) {
    return google::protobuf::util::TimeUtil::ToString(
        static_cast<const google::protobuf::Timestamp&>(message));
  }
  Json object = Json::object();
  for (int i = 0; i < type->field_count(); ++i) {
    object[type->field(i)->name()] = FieldToJson(message, type->field(i));
  }
  return object;
}

}  // namespace

std::string RenderJson(const Message& message, bool pretty) {
  constexpr int kIndent = 2;
  return ToJson(message).dump(pretty ? kIndent : -1) + "\n";
}

}  // namespace podcache::control
