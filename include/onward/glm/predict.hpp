#pragma once
// Predictions of a regression that was made from a formula: for every row of new data, what each draw of its
// parameters says. Rows go by in blocks, so that draws x rows are never in memory at once.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "onward/formula/frame.hpp"
#include "onward/glm/family.hpp"
#include "onward/glm/simulate.hpp"
#include "onward/io/stored_draws.hpp"
#include "onward/table/read_table.hpp"

namespace onward::glm {

/// What has to be known of the regression besides its draws.
struct FittedRegression {
  Family family = Family::gaussian;
  std::string data;  ///< the file that it was fitted to
  std::string formula;
  nlohmann::ordered_json state;              ///< of the formula's frame
  ReadTableOptions table;                    ///< how the file is read, and new ones too
  std::vector<std::string> classes;          ///< of a response of text
  std::vector<std::optional<double>> known;  ///< of the family's numbers, as they are reported

  /// From the object "model" of run.json. Throws Error if that is no regression from a formula.
  static FittedRegression from_json(const nlohmann::ordered_json& model);
};

struct PredictionOptions {
  enum class What {
    /// The expected response: a mean, a probability (of each class, if there are several), or a probability
    /// times the trials.
    fitted,
    predictive,  ///< responses drawn from the family; of several classes, 1 for the one that came
    linear       ///< the linear predictor; ordinal: without thresholds
  };
  What what = What::fitted;
  /// Levels of groups that the fitted data do not have: an Error, or effects drawn from the normal
  /// distribution of each draw.
  bool draw_new_levels = false;
  bool groups = true;                                     ///< false: without the effects of groups
  std::uint64_t seed = 0;                                 ///< of predictive draws and of new levels
  std::vector<double> probabilities = {0.05, 0.5, 0.95};  ///< of the quantiles
  std::size_t threads = 0;                                ///< 0: as many as there are cores
  /// The data have the response, and frame() is to have it: rows without it are left out, as in the fit.
  bool response = false;
};

PredictionOptions::What parse_what(const std::string& word);

/// What the draws say of one row, or of one class of it.
struct PredictedRow {
  double mean = 0, sd = 0;
  std::vector<double> quantiles = {};
};

class Predictions {
 public:
  /// Throws Error where the data lack a column, have a level that is refused, or the draws lack a parameter.
  Predictions(const FittedRegression& fitted, const Table& data, const StoredDraws& draws,
              PredictionOptions options = {});

  const formula::Frame& frame() const { return frame_; }
  std::size_t rows() const { return frame_.rows; }
  std::size_t draws() const { return draws_; }
  /// The classes of a categorical or ordinal response, if there is a number for each of them; else empty.
  const std::vector<std::string>& classes() const { return classes_; }
  std::size_t numbers_per_row() const { return classes_.empty() ? 1 : classes_.size(); }
  /// What the user should know, in whole sentences.
  std::vector<std::string> notes() const;

  /// Hears of blocks of rows, in order, from the calling thread: summaries (row after row, class after class)
  /// and for each summary all draws. It returns false to end early.
  using Take = std::function<bool(std::size_t first, std::span<const PredictedRow> rows,
                                  std::span<const double> draws)>;
  void each_block(const Take& take) const;
  /// All summaries.
  std::vector<PredictedRow> all() const;

 private:
  /// One term of groups, by draws.
  struct Group {
    std::vector<std::vector<double>> effects;  // of levels and columns that occur; empty for the others
    std::vector<std::vector<double>> factor;   // of new levels: S L, row-major, by entry
  };
  void take_population(const StoredDraws& draws);
  void take_thresholds(const FittedRegression& fitted, const StoredDraws& draws);
  void respond_ordered(std::size_t row, std::span<double> out) const;
  /// Linear predictors of a row: one for each class of a categorical response, else one.
  std::size_t predictors_per_row() const { return family_ == Family::categorical ? classes_.size() : 1; }
  void take_numbers(const FittedRegression& fitted, const StoredDraws& draws);
  void take_groups(const StoredDraws& draws);
  void predict_row(std::size_t row, std::span<const double> x, std::span<double> out) const;
  void add_groups(std::size_t row, std::span<double> eta) const;
  void add_new_level(std::size_t term, std::size_t row, std::span<double> eta) const;
  RandomSequence random_of(std::size_t row, std::size_t draw) const;
  void respond(std::size_t row, std::span<double> out) const;

  PredictionOptions options_;
  Family family_;
  formula::Frame frame_;
  std::vector<std::string> classes_;
  std::size_t draws_ = 0;
  std::vector<std::vector<double>> coefficients_;  // class after class, the intercept first: all draws
  std::vector<std::vector<double>> numbers_;       // of the family, for each draw
  std::vector<Group> groups_;
};

}  // namespace onward::glm
