#include "onward/run/checkpoint.hpp"

#include <zlib.h>

#include <fmt/format.h>

#include "../io/system_file.hpp"
#include "onward/error.hpp"
#include "onward/io/run_folder.hpp"
#include "onward/util/archive.hpp"

namespace onward {
namespace {

// The first bytes of the file; the digits are the version of what follows.
constexpr std::string_view mark = "onward checkpoint 5\n";
constexpr std::string_view mark_of_any_version = "onward checkpoint ";

std::uint64_t checksum(std::string_view bytes, std::uint64_t before = 0) {
  return ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const nlohmann::ordered_json& about,
                      const Checkpoint& checkpoint) {
  // States of large models are not copied: the file is put together from where they lie.
  const auto saved = [](auto... values) {
    Archive archive;
    (archive(values), ...);
    return std::move(archive).take();
  };
  std::vector<std::string> between;
  between.push_back(saved(about.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace),
                          checkpoint.seconds.set_up, checkpoint.seconds.all,
                          static_cast<std::uint64_t>(checkpoint.chains.size())));
  for (const ChainCheckpoint& chain : checkpoint.chains)
    between.push_back(saved(chain.steps, chain.draws, static_cast<std::uint64_t>(chain.state.size())));
  std::vector<std::string_view> parts{mark, {}, between.front()};
  for (std::size_t i = 0; i < checkpoint.chains.size(); ++i) {
    parts.emplace_back(between[i + 1]);
    parts.emplace_back(checkpoint.chains[i].state);
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 2; i < parts.size(); ++i) sum = checksum(parts[i], sum);
  const std::string check = saved(sum);
  parts[1] = check;
  write_file_atomically(path, parts);
}

StoredCheckpoint read_checkpoint(const std::filesystem::path& path) {
  const std::string bytes = detail::read_whole(path);
  std::string_view left = bytes;
  if (!left.starts_with(mark)) {
    if (left.starts_with(mark_of_any_version))
      throw Error(
          fmt::format("{} is a checkpoint of another version of onward: go on with that version, or "
                      "begin the run again",
                      path.string()));
    throw Error(fmt::format("{} is not a checkpoint{}. The run cannot go on from it; begin it again",
                            path.string(), bytes.empty() ? ": it is empty" : ""));
  }
  left.remove_prefix(mark.size());
  const auto damaged = [&]() -> Error {
    return Error(
        fmt::format("{} is damaged or cut short: its checksum does not fit. The run cannot go on "
                    "from it; begin it again",
                    path.string()));
  };
  if (left.size() < sizeof(std::uint64_t)) throw damaged();
  std::uint64_t expected = 0;
  Archive(left.substr(0, sizeof expected))(expected);
  left.remove_prefix(sizeof expected);
  if (checksum(left) != expected) throw damaged();
  try {
    StoredCheckpoint stored;
    Archive archive(left);
    std::string text;
    archive(text);
    stored.about = nlohmann::ordered_json::parse(text);
    archive(stored.checkpoint.seconds.set_up, stored.checkpoint.seconds.all);
    stored.checkpoint.chains.resize(archive.count(0, 3 * sizeof(std::uint64_t)));
    for (ChainCheckpoint& chain : stored.checkpoint.chains) archive(chain.steps, chain.draws, chain.state);
    archive.finish();
    return stored;
  } catch (const nlohmann::json::exception&) {
    throw damaged();
  } catch (const Error&) {
    throw damaged();
  }
}

}  // namespace onward
