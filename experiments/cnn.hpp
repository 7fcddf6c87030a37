#pragma once
// The paper's Tables 4 to 7: a convolutional network with 2.4 million parameters on CIFAR-10.
//
// Quality: from weights that were trained (cnn_pretraining.hpp), every sampler runs at a grid of step sizes
// on the first images; the step size whose mean predictive probabilities tell held-out images best is run
// with further seeds. Test images are for the figures that are reported, and choose nothing.
//
// Time and memory: a few steps of every sampler at several numbers of images, without batch norms as in the
// paper, each in a process of its own.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnn_images.hpp"
#include "onward/net/posterior.hpp"

namespace onward::experiments {

/// Sizes that an hour or two allow; the paper's are 10,000 images, one chain of 1,000 draws, 5 seeds. Chains
/// that have only begun are random walks away from the start: the draws of one have most of their way in
/// common, so a few short ones say more than one that is as long as all of them.
struct CnnSettings {
  std::vector<std::string> samplers{"fmala", "line-fmala", "pc-fmala", "pc-line-fmala", "mala"};
  bool quality = true, timing = true;  ///< which of the two parts
  std::size_t width = 32;              ///< of the network's first layer
  double prior_sd = 10;
  std::string start;  ///< file of weights
  std::string data;   ///< folder with files of CIFAR-10's names; empty: CIFAR-10

  std::size_t images = 250;     ///< to sample with, the first so many
  std::size_t held_out = 6000;  ///< to choose step sizes by: the last so many of the training images
  std::size_t test_images = 0;  ///< 0: all
  std::size_t chains = 12;      ///< from the start, each with random numbers of its own
  std::size_t draws = 12;       ///< of each chain: every step gives one
  std::size_t predicted = 1;    ///< draws of each chain that predictions are made with, evenly spaced
  std::size_t grid = 5;         ///< step sizes, evenly spaced in log
  std::size_t seeds = 3;        ///< at the best of them
  std::map<std::string, double> step_sizes = {};  ///< in place of a grid

  std::vector<std::size_t> sizes{10'000, 30'000, 50'000};  ///< numbers of images to time steps with
  std::size_t timing_steps = 0;                            ///< 0: 3 up to 10,000 images, 1 above
  double memory_limit = 0;                                 ///< bytes; 0: what the machine has

  std::uint64_t seed = 1;
  std::size_t threads = 0;  ///< 0: all cores
  std::string folder;       ///< where finished rows are kept and found again; empty: nowhere
};

/// Checks every field; throws UsageError with field, value and what is allowed.
void validate(const CnnSettings& settings);

/// Checks that there are as many images as are wanted, and memory for one of them. Throws UsageError or
/// Error. Must be called while the process has one thread: it forks.
void check_cnn(const CnnSettings& settings, const CnnData& data);
/// Loads the images and checks all of this, and that the weights are this network's.
CnnData load_cnn(const CnnSettings& settings);

/// How mean probabilities tell images.
struct CnnScores {
  double accuracy = 0, ece = 0, nll = 0;
};

/// Chains from the start with one step size and one seed, taken together.
struct CnnChain {
  std::optional<double> step_size;
  std::uint64_t seed = 1;
  CnnScores test, held_out;
  double acceptance = 0;
  double log_density = 0;  ///< mean over the second halves of the chains
  double rms_move = 0;     ///< root mean square of how far parameters are from the start at a chain's end
  double seconds_per_step = 0;
};

/// A sampler's: the grid has one seed; the chains are those of the best step size.
struct CnnQualityRow {
  std::string sampler;
  std::vector<CnnChain> grid, chains;
};

/// The weights from which chains start.
struct CnnStart {
  CnnScores test, held_out;
  double log_density = 0;
  std::size_t dimension = 0;
};

struct CnnTimingRow {
  std::string sampler;
  std::optional<net::GradientForm> form;  ///< mala
  std::size_t images = 0, dimension = 0;
  double needed_bytes = 0;  ///< estimated before it starts
  bool refused = false;     ///< since it would need more than the limit; then the rest is 0
  double seconds_per_step = 0, sd = 0;
  std::size_t steps = 0;
  double peak_bytes = 0;  ///< beyond program and data
};

struct CnnTable {
  CnnSettings settings;
  std::optional<CnnStart> start;  ///< quality
  std::vector<CnnQualityRow> quality;
  std::vector<CnnTimingRow> timing;
  double seconds = 0;
};

/// The share of the work that is done, rows that were found not counted.
using CnnProgress = std::function<void(double share)>;

/// Runs the experiment. If `stop` becomes true the row at work is given up, finished rows are in the folder,
/// and std::nullopt is returned. Must be called while the process has one thread: it forks.
std::optional<CnnTable> cnn_table(const CnnSettings& settings, const CnnData& data,
                                  const CnnProgress& progress, const std::atomic<bool>& stop);

/// The start alone, in a child process; nothing if it was stopped.
std::optional<CnnStart> cnn_start_row(const CnnSettings& settings, const CnnData& data,
                                      const std::atomic<bool>& stop);

/// The best of a grid: the least NLL of held-out images.
const CnnChain& best_of(const std::vector<CnnChain>& grid);
/// The step sizes that are tried; one without a value for samplers that have none.
std::vector<std::optional<double>> cnn_grid(const CnnSettings& settings, const std::string& sampler);

/// The test images that are looked at.
net::Data test_rows(const CnnSettings& settings, const CnnData& data);
/// Steps that are timed with so many images.
std::size_t timed_steps(const CnnSettings& settings, std::size_t images);
/// Throws Error if the limit is too small for a piece of one image.
void check_cnn_memory(const CnnSettings& settings, const CnnData& data);

/// The weights alone, in this process.
CnnStart cnn_start(const CnnSettings& settings, const CnnData& data);
/// One chain in this process.
CnnChain cnn_chain(const CnnSettings& settings, const CnnData& data, const std::string& sampler,
                   std::optional<double> step_size, std::uint64_t seed,
                   const std::function<void(double share)>& progress = {});
/// One row of times in this process.
CnnTimingRow cnn_timing(const CnnSettings& settings, const CnnData& data, const std::string& sampler,
                        std::optional<net::GradientForm> form, std::size_t images,
                        const std::function<void(double share)>& progress = {});

/// What the paper printed.
struct PublishedCnnQuality {
  double accuracy, accuracy_sd, ece, ece_sd;
};
std::optional<PublishedCnnQuality> published_cnn_quality(std::string_view sampler);
inline constexpr double published_cnn_start_accuracy = 0.7942, published_cnn_start_ece = 0.036;
/// Seconds per step; both 0 where the sampler ran out of 48 GB.
struct PublishedCnnTime {
  double seconds = 0, sd = 0;
};
std::optional<PublishedCnnTime> published_cnn_time(std::string_view sampler, std::size_t images);

nlohmann::ordered_json to_json(const CnnStart& start);
nlohmann::ordered_json to_json(const CnnChain& chain);
nlohmann::ordered_json to_json(const CnnTimingRow& row);

}  // namespace onward::experiments
