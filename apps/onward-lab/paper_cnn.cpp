// `onward paper cnn`: Tables 4 to 7, a convolutional network on CIFAR-10, and the training of its start.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "experiments/cnn_pretraining.hpp"
#include "experiments/cnn_report.hpp"
#include "experiments/scratch_folder.hpp"
#include "onward/data/data_set.hpp"
#include "onward/error.hpp"
#include "onward/io/json.hpp"
#include "onward/io/run_folder.hpp"
#include "paper.hpp"
#include "progress_bar.hpp"
#include "stop.hpp"

namespace onward::app {
namespace {

namespace fs = std::filesystem;
using experiments::CnnData;
using experiments::CnnStart;
using experiments::Epoch;
using experiments::Pretraining;
using experiments::ScratchFolder;

struct Request {
  experiments::CnnSettings table;
  experiments::PretrainingSettings training;
  bool pretrain = false;
  std::string part;
  PaperOptions options;
};

/// Where the start of the paper's network is kept for later runs.
fs::path cache_folder() { return data_folder(data_set("cifar10")).parent_path() / "cnn"; }

/// --start, or what --pretrain left in --out or in the cache.
std::string find_start(const Request& request) {
  if (!request.table.start.empty()) return request.table.start;
  std::vector<fs::path> places;
  if (!request.options.out.empty()) places.push_back(experiments::start_file(request.options.out));
  places.push_back(experiments::start_file(cache_folder().string()));
  for (const auto& place : places)
    if (fs::exists(place)) return place.string();
  return "";
}

/// Takes the parts of --part, or what follows from the rest.
void choose_parts(Request& request) {
  const std::string part = !request.part.empty()                        ? request.part
                           : request.pretrain && !request.options.quick ? "none"
                                                                        : "all";
  if (part != "quality" && part != "timing" && part != "all" && part != "none")
    throw UsageError(fmt::format(
        "--part '{}' is not known: it is quality (Tables 4 and 7), timing (Tables 5 and 6), all or none",
        part));
  if (part == "none" && !request.pretrain)
    throw UsageError("--part none leaves nothing to do: it goes with --pretrain");
  request.table.quality = part == "quality" || part == "all";
  request.table.timing = part == "timing" || part == "all";
}

std::optional<Pretraining> train(Request& request, const std::atomic<bool>& stop) {
  ProgressBar bar(request.options.quiet);
  const std::size_t all = request.training.sgd.epochs;
  const auto tell = [&](const Epoch& epoch) {
    const double left = static_cast<double>(all - epoch.number) * epoch.seconds;
    bar.note(fmt::format("epoch {} of {}: loss {:.4f}, held-out accuracy {:.4f}, NLL {:.4f}; {}, {} left",
                         epoch.number, all, epoch.loss, epoch.accuracy, epoch.nll, duration(epoch.seconds),
                         duration(left)));
  };
  return experiments::pretrain(
      request.training, tell, [&](double share) { bar.show_shares(0, share, 1); }, stop);
}

/// So that runs into other folders find it; other networks and images are none of theirs.
void keep_for_later(const Request& request) {
  const bool the_papers = request.training.width == experiments::PretrainingSettings{}.width &&
                          request.training.data.empty() && !request.options.quick;
  const fs::path kept = experiments::start_file(cache_folder().string());
  if (!the_papers || kept == request.table.start) return;
  fs::create_directories(kept.parent_path());
  std::ifstream in(request.table.start, std::ios::binary);
  write_file_atomically(kept, std::string(std::istreambuf_iterator<char>(in), {}));
}

nlohmann::ordered_json pretraining_json(const Request& request, const Pretraining& epochs) {
  const auto& sgd = request.training.sgd;
  return {{"images", request.training.images},
          {"held_out", request.training.held_out},
          {"batch", sgd.batch},
          {"rate", sgd.rate},
          {"momentum", sgd.momentum},
          {"weight_decay", sgd.weight_decay},
          {"epochs", to_json(epochs)}};
}

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

/// Everything tiny, except what was given.
void make_quick(Request& request, const CLI::App& command) {
  auto& t = request.table;
  unless_given(command, "--width", t.width, 8);
  unless_given(command, "--images", t.images, 200);
  unless_given(command, "--held-out", t.held_out, 1000);
  unless_given(command, "--chains", t.chains, 3);
  unless_given(command, "--draws", t.draws, 6);
  unless_given(command, "--grid", t.grid, 3);
  unless_given(command, "--seeds", t.seeds, 2);
  unless_given(command, "--timing-steps", t.timing_steps, 2);
  unless_given(command, "--epochs", request.training.sgd.epochs, 2);
  unless_given(command, "--train-images", request.training.images, 8000);
  if (command.count("--sizes") == 0) t.sizes = {500, 1000};
  constexpr std::size_t few = 2000;
  if (request.table.data.empty()) t.test_images = few;
}

int run(Request& request, const CLI::App& command) {
  PaperOptions& options = request.options;
  if (options.quick) make_quick(request, command);
  auto& t = request.table;
  auto& training = request.training;
  if (request.pretrain && !t.start.empty())
    throw UsageError("--pretrain makes a start and --start gives one: use one of them");
  choose_parts(request);
  validate(t);
  note_other_contents(options, "cifar10", t.data);
  training.width = t.width;
  training.held_out = t.held_out;
  training.data = t.data;
  training.threads = t.threads;
  training.sgd.seed = t.seed;
  std::optional<ScratchFolder> scratch;
  if (options.quick && t.start.empty() && t.quality) request.pretrain = true;
  std::optional<CnnData> data;
  if (request.pretrain) {
    check_pretraining(training);
    data = experiments::load_cnn_data(t.data, t.held_out);
    // Without a table the images are for the start's log density alone.
    if (!t.quality) t.images = std::min(t.images, data->train_count() - t.held_out);
    check_cnn(t, *data);
  } else {
    if (t.quality) t.start = find_start(request);
    if (t.quality && t.start.empty())
      throw Error(
          "there is no start to sample from: `onward paper cnn --pretrain` trains one, --start "
          "FILE.safetensors "
          "gives one");
    data = load_cnn(t);
  }
  prepare_folder(options);
  t.folder = options.out;
  const std::atomic<bool>& stop = stop_when_told();
  nlohmann::ordered_json json;
  if (request.pretrain) {
    if (!options.out.empty()) {
      training.folder = options.out;
    } else if (options.quick) {
      training.folder = scratch.emplace().path();
    } else {
      training.folder = cache_folder().string();
      fs::create_directories(training.folder);
    }
    const auto epochs = train(request, stop);
    if (!epochs) return interrupted_run(options);
    t.start = experiments::start_file(training.folder).string();
    keep_for_later(request);
    const auto start = experiments::cnn_start_row(t, *data, stop);
    if (!start) return interrupted_run(options);
    json["pretraining"] = pretraining_json(request, *epochs);
    json["start"] = to_json(*start);
    if (!options.json) fmt::print("{}\n{}\n\n", t.start, experiments::cnn_start_text(*start));
  }
  if (t.quality || t.timing) {
    ProgressBar bar(options.quiet);
    const auto table = cnn_table(
        t, *data, [&](double share) { bar.show_shares(0, share, 1); }, stop);
    bar.clear();
    if (!table) return interrupted_run(options);
    json.update(experiments::cnn_json(*table));
    if (!options.out.empty()) write_tables(*table, json, options.out);
    if (!options.json) fmt::print("{}\n{}\n", experiments::cnn_text(*table), duration(table->seconds));
  }
  if (options.json) fmt::print("{}\n", json_text(json));
  return done;
}

}  // namespace

void add_cnn(CLI::App& paper, Action& action) {
  auto request = std::make_shared<Request>();
  auto& t = request->table;
  auto& training = request->training;
  auto& command = *paper.add_subcommand("cnn", "Tables 4 to 7: a convolutional network on CIFAR-10");
  command.add_flag(
      "--pretrain", request->pretrain,
      "train the start by SGD (images shifted by up to 4 pixels and mirrored) and keep it in --out and "
      "the cache; goes on with a training that was cut short, and ends there unless --part or --quick "
      "says more");
  add_count(command, "--epochs", training.sgd.epochs, 1, "of --pretrain");
  add_count(command, "--train-images", training.images, 0,
            "of --pretrain, the first so many, 0: all that are not held out");
  command
      .add_option("--start", t.start,
                  "FILE.safetensors with weights of the network with batch norms [what --pretrain left]")
      ->type_name("FILE");
  command.add_option(
      "--part", request->part,
      "quality (Tables 4 and 7), timing (Tables 5 and 6), all, or none after --pretrain [all]");
  add_common_settings(command, t);
  add_count(command, "--images", t.images, 1, "training images to sample with, the first so many");
  add_count(command, "--held-out", t.held_out, 1,
            "last training images, which choose step sizes and are not trained with");
  add_count(command, "--seeds", t.seeds, 1, "independent repetitions, which give the ±");
  add_count(command, "--chains", t.chains, 1, "of each seed, short ones from one start");
  add_count(command, "--draws", t.draws, 1, "of each chain, one a step");
  add_count(command, "--predicted", t.predicted, 1, "draws of each chain that predict, evenly spaced");
  add_count(command, "--grid", t.grid, 1, "step sizes that are tried, evenly spaced in log");
  add_step_sizes(command, t.step_sizes, "in place of a grid");
  add_counts(command, "--sizes", t.sizes, "numbers of images to time steps with", "10000,30000,50000");
  add_count(command, "--timing-steps", t.timing_steps, 0,
            "steps to time, after one (line-fmala two) that is not; 0: 3 up to 10000 images, 1 above");
  command
      .add_option_function<std::string>(
          "--max-memory",
          [&limit = t.memory_limit](const std::string& word) { limit = parse_memory("--max-memory", word); },
          "such as 8G; whole-batch mala that would need more is refused [all of the machine's]")
      ->type_name("SIZE");
  add_count(command, "--width", t.width, 1, "of the first layer; others than 32 are not the paper's");
  command
      .add_option("--data", t.data,
                  "folder with files of CIFAR-10's names [CIFAR-10, by `onward data get cifar10`]")
      ->type_name("DIR");
  add_paper_options(command, request->options,
                    "another network, of width 8, pretraining included: under 60 s");
  set_action(command, action, request->options, [request, &command] { return run(*request, command); });
}

}  // namespace onward::app
