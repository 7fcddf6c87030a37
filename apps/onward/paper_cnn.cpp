#include "paper_cnn.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "commands.hpp"
#include "experiments/cnn_report.hpp"
#include "number_options.hpp"
#include "onward/data/data_set.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"
#include "progress_bar.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;
using experiments::CnnData;
using experiments::CnnStart;
using experiments::Epoch;
using experiments::Pretraining;

/// Where the start of the paper's network is kept for later runs.
fs::path cache_folder() { return data_folder(data_set("cifar10")).parent_path() / "cnn"; }

/// --start, or what --pretrain left in --out or in the cache.
std::string find_start(const CnnRequest& request, const PaperCommons& commons) {
  if (!request.table.start.empty()) return request.table.start;
  std::vector<fs::path> places;
  if (!commons.out.empty()) places.push_back(experiments::start_file(commons.out));
  places.push_back(experiments::start_file(cache_folder().string()));
  for (const auto& place : places)
    if (fs::exists(place)) return place.string();
  return "";
}

/// Takes the parts of --part, or what follows from the rest.
void choose_parts(CnnRequest& request, bool quick) {
  const std::string part = !request.part.empty() ? request.part : request.pretrain && !quick ? "none" : "all";
  if (part != "quality" && part != "timing" && part != "all" && part != "none")
    throw UsageError(fmt::format(
        "--part '{}' is not known: it is quality (Tables 4 and 7), timing (Tables 5 and 6), all or none",
        part));
  if (part == "none" && !request.pretrain)
    throw UsageError("--part none leaves nothing to do: it goes with --pretrain");
  request.table.quality = part == "quality" || part == "all";
  request.table.timing = part == "timing" || part == "all";
}

void show_share(ProgressBar& bar, double share) {
  constexpr std::size_t parts = 1000;
  bar.show_pieces(static_cast<std::size_t>(share * parts), parts);
}

std::optional<Pretraining> train(CnnRequest& request, const PaperCommons& commons) {
  ProgressBar bar(commons.quiet);
  const std::size_t all = request.training.sgd.epochs;
  const auto tell = [&](const Epoch& epoch) {
    const double left = static_cast<double>(all - epoch.number) * epoch.seconds;
    bar.note(fmt::format("epoch {} of {}: loss {:.4f}, held-out accuracy {:.4f}, NLL {:.4f}; {}, {} left",
                         epoch.number, all, epoch.loss, epoch.accuracy, epoch.nll, duration(epoch.seconds),
                         duration(left)));
  };
  return experiments::pretrain(
      request.training, tell, [&](double share) { show_share(bar, share); }, commons.stop);
}

/// So that runs into other folders find it; other networks and images are none of theirs.
void keep_for_later(const CnnRequest& request, const PaperCommons& commons) {
  const bool the_papers = request.training.width == experiments::PretrainingSettings{}.width &&
                          request.training.data.empty() && !commons.quick;
  const fs::path kept = experiments::start_file(cache_folder().string());
  if (!the_papers || kept == request.table.start) return;
  fs::create_directories(kept.parent_path());
  std::ifstream in(request.table.start, std::ios::binary);
  write_file_atomically(kept, std::string(std::istreambuf_iterator<char>(in), {}));
}

nlohmann::ordered_json pretraining_json(const CnnRequest& request, const Pretraining& epochs) {
  const auto& sgd = request.training.sgd;
  return {{"images", request.training.images},
          {"held_out", request.training.held_out},
          {"batch", sgd.batch},
          {"rate", sgd.rate},
          {"momentum", sgd.momentum},
          {"weight_decay", sgd.weight_decay},
          {"epochs", to_json(epochs)}};
}

/// A folder of its own that is removed at the end. Its name cannot be guessed, so nobody can have put a link
/// there.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "onward-cnn-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw Error(fmt::format("cannot make a folder in {}: {}. Set TMPDIR to another place.",
                              fs::temp_directory_path().string(), std::generic_category().message(errno)));
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

void write_tables(const experiments::CnnTable& table, const nlohmann::ordered_json& json,
                  const std::string& out) {
  const fs::path folder = out;
  write_file_atomically(folder / "table.txt", experiments::cnn_text(table));
  write_file_atomically(folder / "table.md", experiments::cnn_markdown(table));
  write_file_atomically(folder / "table.json", json_text(json, 1) + "\n");
  if (table.settings.quality)
    write_file_atomically(folder / "quality.csv", experiments::cnn_quality_csv(table));
  if (table.settings.timing) write_file_atomically(folder / "timing.csv", experiments::cnn_timing_csv(table));
  experiments::cnn_figure(table, out);
}

}  // namespace

std::vector<std::string> add_cnn_options(CLI::App& command, CnnRequest& request) {
  auto& t = request.table;
  auto& training = request.training;
  const auto before = command.get_options().size();
  command.add_flag(
      "--pretrain", request.pretrain,
      "cnn: train the start by SGD (images shifted by up to 4 pixels and mirrored) and keep it in "
      "--out and the cache; goes on with a training that was cut short, and ends there unless "
      "--part or --quick says more");
  add_count(command, "--epochs", training.sgd.epochs, 1, "cnn: of --pretrain");
  add_count(command, "--train-images", training.images, 0,
            "cnn: of --pretrain, the first so many, 0: all that are not held out");
  command.add_option(
      "--start", t.start,
      "cnn: FILE.safetensors with weights of the network with batch norms [what --pretrain left]");
  command.add_option(
      "--part", request.part,
      "cnn: quality (Tables 4 and 7), timing (Tables 5 and 6), all, or none after --pretrain [all]");
  add_count(command, "--held-out", t.held_out, 1,
            "cnn: last training images, which choose step sizes and are not trained with");
  add_count(command, "--draws", t.draws, 1, "cnn: of each chain, one a step");
  add_count(command, "--predicted", t.predicted, 1, "cnn: draws of each chain that predict, evenly spaced");
  add_count(command, "--grid", t.grid, 1, "cnn: step sizes that are tried, evenly spaced in log");
  command
      .add_option_function<std::vector<std::string>>(
          "--sizes",
          [&sizes = t.sizes](const std::vector<std::string>& words) {
            sizes.clear();
            for (const auto& word : words) sizes.push_back(parse_count("--sizes", word, 1));
          },
          "cnn: numbers of images to time steps with")
      ->delimiter(',')
      ->default_str("10000,30000,50000");
  add_count(command, "--timing-steps", t.timing_steps, 0,
            "cnn: steps to time, after one (line-fmala two) that is not; 0: 3 up to 10000 images, 1 above");
  command
      .add_option_function<std::string>(
          "--max-memory",
          [&limit = t.memory_limit](const std::string& word) { limit = parse_memory("--max-memory", word); },
          "cnn: such as 8G; whole-batch mala that would need more is refused [all of the machine's]")
      ->type_name("SIZE");
  add_count(command, "--width", t.width, 1, "cnn: of the first layer; others than 32 are not the paper's");
  std::vector<std::string> names;
  const auto options = command.get_options();
  for (std::size_t i = before; i < options.size(); ++i) names.push_back(options[i]->get_name());
  return names;
}

void make_quick(CnnRequest& request, const CLI::App& command) {
  const auto unless_given = [&](const char* option, std::size_t& value, std::size_t quick) {
    if (command.count(option) == 0) value = quick;
  };
  auto& t = request.table;
  unless_given("--width", t.width, 8);
  unless_given("--images", t.images, 200);
  unless_given("--held-out", t.held_out, 1000);
  unless_given("--chains", t.chains, 3);
  unless_given("--draws", t.draws, 6);
  unless_given("--grid", t.grid, 3);
  unless_given("--seeds", t.seeds, 2);
  unless_given("--timing-steps", t.timing_steps, 2);
  unless_given("--epochs", request.training.sgd.epochs, 2);
  unless_given("--train-images", request.training.images, 8000);
  if (command.count("--sizes") == 0) t.sizes = {500, 1000};
  constexpr std::size_t few = 2000;
  if (request.table.data.empty()) t.test_images = few;
}

int paper_cnn(CnnRequest& request, const PaperCommons& commons) {
  auto& t = request.table;
  auto& training = request.training;
  if (request.pretrain && !t.start.empty())
    throw UsageError("--pretrain makes a start and --start gives one: use one of them");
  choose_parts(request, commons.quick);
  validate(t);
  training.width = t.width;
  training.held_out = t.held_out;
  training.data = t.data;
  training.threads = t.threads;
  training.sgd.seed = t.seed;
  std::optional<ScratchFolder> scratch;
  if (commons.quick && t.start.empty() && t.quality) request.pretrain = true;
  std::optional<CnnData> data;
  if (request.pretrain) {
    check_pretraining(training);
    data = experiments::load_cnn_data(t.data, t.held_out);
    // Without a table the images are for the start's log density alone.
    if (!t.quality) t.images = std::min(t.images, data->train.count() - t.held_out);
    check_cnn(t, *data);
  } else {
    if (t.quality) t.start = find_start(request, commons);
    if (t.quality && t.start.empty())
      throw Error(
          "there is no start to sample from: `onward paper cnn --pretrain` trains one, --start "
          "FILE.safetensors "
          "gives one");
    data = load_cnn(t);
  }
  commons.begin();
  nlohmann::ordered_json json;
  if (request.pretrain) {
    if (!commons.out.empty()) {
      training.folder = commons.out;
    } else if (commons.quick) {
      training.folder = scratch.emplace().path();
    } else {
      training.folder = cache_folder().string();
      fs::create_directories(training.folder);
    }
    const auto epochs = train(request, commons);
    if (!epochs) return commons.interrupted();
    t.start = experiments::start_file(training.folder).string();
    keep_for_later(request, commons);
    const auto start = experiments::cnn_start_row(t, *data, commons.stop);
    if (!start) return commons.interrupted();
    json["pretraining"] = pretraining_json(request, *epochs);
    json["start"] = to_json(*start);
    if (!commons.json) fmt::print("{}\n{}\n\n", t.start, experiments::cnn_start_text(*start));
  }
  if (t.quality || t.timing) {
    ProgressBar bar(commons.quiet);
    const auto table = cnn_table(
        t, *data, [&](double share) { show_share(bar, share); }, commons.stop);
    bar.clear();
    if (!table) return commons.interrupted();
    json.update(experiments::cnn_json(*table));
    if (!commons.out.empty()) write_tables(*table, json, commons.out);
    if (!commons.json) fmt::print("{}\n{}\n", experiments::cnn_text(*table), duration(table->seconds));
  }
  if (commons.json) fmt::print("{}\n", json_text(json));
  return done;
}

}  // namespace onward::app
