// Pictures come out as valid files whatever the data, and what cannot be drawn or written says why.

#include "onward/plot/figure.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>

#include "onward/error.hpp"
#include "onward/plot/prediction_picture.hpp"
#include "onward/plot/run_picture.hpp"

namespace onward::plot {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A folder of the test's own, gone afterwards.
class Pictures : public ::testing::Test {
 protected:
  Pictures() { fs::create_directories(folder_); }
  ~Pictures() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string saved(const Figure& figure, const std::string& name) const {
    figure.save(path(name));
    return read(path(name));
  }

 private:
  fs::path folder_ = fs::temp_directory_path() / ("onward-plot-" + std::to_string(::getpid()));
};

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<unsigned char>(bytes.at(at + i));
  return value;
}

// The names of a PNG's chunks in order; throws std::out_of_range where a chunk is cut off.
std::string png_chunks(const std::string& bytes) {
  std::string names;
  for (std::size_t at = 8; at < bytes.size();) {
    names += bytes.substr(at + 4, 4) + " ";
    at += 12 + static_cast<std::size_t>(big_endian(bytes, at));
    if (at > bytes.size()) throw std::out_of_range("PNG chunk");
  }
  return names;
}

// Every tag closed, in the right order, and no number that is none.
void expect_valid_svg(const std::string& text) {
  EXPECT_THAT(text, HasSubstr("<svg "));
  std::vector<std::string> open;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    const std::size_t end = text.find('>', at);
    ASSERT_NE(end, std::string::npos);
    const std::string tag = text.substr(at + 1, end - at - 1);
    ASSERT_EQ(tag.find('<'), std::string::npos) << tag;
    if (tag.starts_with('?') || tag.starts_with('!') || tag.ends_with('/')) continue;
    if (tag.starts_with('/')) {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), tag.substr(1));
      open.pop_back();
    } else {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
    }
  }
  EXPECT_TRUE(open.empty());
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("inf")));
}

// How often a colour is stroked or filled; cairo writes its parts in percent.
std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

const std::vector<double> numbers{1, 2, 3, 4, 5};
const std::vector<double> squares{1, 4, 9, 16, 25};
const Color red{1, 0, 0};

TEST_F(Pictures, PngIsWholeAndOfTheSizeAskedFor) {
  Figure figure(1, 1, 12.7, 5.08);  // 5 x 2 inches
  figure.panel(0, 0).line(numbers, squares);
  const std::string bytes = saved(figure, "a.png");
  EXPECT_EQ(bytes.substr(0, 8), "\x89PNG\r\n\x1a\n");
  EXPECT_EQ(big_endian(bytes, 16), 1000U);
  EXPECT_EQ(big_endian(bytes, 20), 400U);
  EXPECT_THAT(png_chunks(bytes),
              ::testing::AllOf(::testing::StartsWith("IHDR "), ::testing::EndsWith("IDAT IEND ")));
}

TEST_F(Pictures, SvgIsWellFormedAndOfTheSizeAskedFor) {
  Figure figure(1, 1, 12.7, 5.08);
  figure.title("a < b & c").panel(0, 0).title("<x>").line(numbers, squares, {.label = "\"y\" & z"});
  const std::string text = saved(figure, "a.SVG");
  expect_valid_svg(text);
  EXPECT_THAT(text, HasSubstr("viewBox=\"0 0 360 144\""));
}

TEST_F(Pictures, EveryMarkLeavesSomethingOnThePage) {
  const auto drawn = [&](auto add) {
    Figure figure(1, 1);
    add(figure.panel(0, 0).x_range(0, 6).y_range(-1, 30));
    const std::string text = saved(figure, "mark.svg");
    expect_valid_svg(text);
    return count(text, "rgb(100%,0%,0%)") + count(text, "rgb(100%, 0%, 0%)");
  };
  EXPECT_EQ(drawn([](Panel&) {}), 0U);
  EXPECT_EQ(drawn([](Panel& p) { p.line(numbers, squares, {.color = red}); }), 1U);
  EXPECT_EQ(drawn([](Panel& p) { p.points(numbers, squares, {.color = red}); }), 1U);
  EXPECT_EQ(drawn([](Panel& p) { p.area(numbers, squares, {.color = red}); }), 1U);
  EXPECT_EQ(drawn([](Panel& p) { p.band(numbers, numbers, squares, {.color = red}); }), 1U);
  EXPECT_EQ(drawn([](Panel& p) { p.histogram(squares, 3, {.color = red}); }), 1U);
  EXPECT_EQ(drawn([](Panel& p) { p.density(squares, {.color = red}); }), 1U);
  EXPECT_EQ(drawn([](Panel& p) { p.density(std::vector<double>{2, 2}, {.color = red}); }), 1U);
  EXPECT_EQ(drawn([](Panel& p) { p.rule(3, {.color = red}); }), 1U);
  EXPECT_EQ(drawn([](Panel& p) { p.vertical_rule(3, {.color = red}); }), 1U);
  EXPECT_EQ(drawn([](Panel& p) { p.text(3, 3, "here", {.color = red}); }), 1U);
  // In the legend once more.
  EXPECT_EQ(drawn([](Panel& p) { p.line(numbers, squares, {.color = red, .label = "red"}); }), 2U);
}

// The tag of the first red thing.
std::string red_tag(const std::string& text) {
  const std::size_t color = std::min(text.find("rgb(100%,0%,0%)"), text.find("rgb(100%, 0%, 0%)"));
  const std::size_t begin = text.rfind('<', color);
  return text.substr(begin, text.find('>', begin) - begin);
}

// What a tag says of a name: name="..." or, as older cairos write, within style="...;name:...;".
std::string attribute(const std::string& tag, const std::string& name) {
  for (const auto& [before, after] : {std::pair(" " + name + "=\"", '"'), {";" + name + ":", ';'}}) {
    const std::size_t begin = tag.find(before);
    if (begin == std::string::npos) continue;
    const std::size_t value = begin + before.size();
    return tag.substr(value, tag.find(after, value) - value);
  }
  return "";
}

// Width and height of the path of the first red thing.
std::pair<double, double> red_size(const std::string& text) {
  std::istringstream path(attribute(red_tag(text), "d"));
  double low[2] = {1e9, 1e9}, high[2] = {-1e9, -1e9};
  std::size_t axis = 0;
  for (std::string word; path >> word;) {
    if (std::isalpha(static_cast<unsigned char>(word[0]))) continue;
    low[axis] = std::min(low[axis], std::stod(word));
    high[axis] = std::max(high[axis], std::stod(word));
    axis = 1 - axis;
  }
  return {high[0] - low[0], high[1] - low[1]};
}

TEST_F(Pictures, WordsHaveAWhiteEdge) {
  const auto white = [&](const std::string& words) {
    Figure figure(1, 1);
    figure.panel(0, 0).line(numbers, squares).text(3, 3, words);
    const std::string text = saved(figure, "words.svg");
    return count(text, "rgb(100%,100%,100%)") + count(text, "rgb(100%, 100%, 100%)");
  };
  EXPECT_EQ(white("here"), white("") + 1);
}

TEST_F(Pictures, EqualScaleMakesSquaresSquare) {
  const std::vector<double> x{1, 3, 3, 1}, y{1, 1, 3, 3};
  for (const auto& [wide, high] : {std::pair(16.0, 5.0), {5.0, 16.0}}) {
    Figure figure(1, 1, wide, high);
    figure.panel(0, 0).x_range(0, 4).y_range(0, 4).area(x, y, {.color = red});
    const auto [width, height] = red_size(saved(figure, "square.svg"));
    EXPECT_GT(std::abs(width - height), 30);
    figure.panel(0, 0).equal_scale();
    const auto [equal_width, equal_height] = red_size(saved(figure, "square.svg"));
    // cairo counts in 256ths of a point.
    EXPECT_NEAR(equal_width, equal_height, 0.01);
    EXPECT_NEAR(equal_width, std::min(width, height), 0.01);
  }
  Figure figure(1, 1);
  figure.panel(0, 0).equal_scale().x_scale(Scale::log).line(numbers, squares);
  EXPECT_THROW(figure.save(path("log.svg")), UsageError);
}

TEST_F(Pictures, BrokenLinesDifferFromEachOtherAndInTheKey) {
  std::vector<std::string> patterns;
  for (std::size_t i = 0; i < 6; ++i) {
    Figure line(1, 1), key(1, 1);
    line.panel(0, 0).line(numbers, squares, {.color = red, .dash = dash_pattern(i)});
    key.key({{"red", red, dash_pattern(i)}});
    patterns.push_back(attribute(red_tag(saved(line, "dash.svg")), "stroke-dasharray"));
    EXPECT_EQ(attribute(red_tag(saved(key, "key.svg")), "stroke-dasharray").empty(), i == 0);
  }
  EXPECT_EQ(patterns[0], "");
  std::sort(patterns.begin(), patterns.end());
  EXPECT_EQ(std::unique(patterns.begin(), patterns.end()), patterns.end());
  EXPECT_EQ(dash_pattern(6), dash_pattern(0));
}

TEST_F(Pictures, ManyPointsMakeASmallFile) {
  std::vector<double> x(2000), y(2000);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<double>(i);
    y[i] = std::sin(12.9898 * x[i]);
  }
  Figure figure(1, 1);
  figure.panel(0, 0).points(x, y, {.color = red, .size = 2});
  const std::string text = saved(figure, "points.svg");
  expect_valid_svg(text);
  EXPECT_EQ(count(attribute(red_tag(text), "d"), "M "), 2000U);
  EXPECT_EQ(attribute(red_tag(text), "stroke-linecap"), "round");
  EXPECT_LT(text.size(), 150000U);
}

// Glyphs are drawn by reference, one a character that is not blank.
std::size_t characters(const std::string& text) { return count(text, "<use "); }

TEST_F(Pictures, TicksOfOnesOwnReplaceNumbers) {
  const auto with = [&](std::vector<Tick> own) {
    Figure figure(1, 1);
    figure.panel(0, 0).line(numbers, squares).x_range(0, 6).hide_y_axis().x_ticks(std::move(own));
    return saved(figure, "ticks.svg");
  };
  EXPECT_EQ(characters(with({{1, "one"}, {2, ""}, {3, "three"}})), 8U);
  EXPECT_EQ(characters(with({{1, "one"}, {7, "beyond"}, {nan, "nowhere"}})), 3U);
}

TEST_F(Pictures, AHiddenPanelLeavesItsPlaceEmpty) {
  Figure figure(1, 2);
  figure.panel(0, 0).line(numbers, squares);
  figure.panel(0, 1).title("unseen").line(numbers, squares, {.color = red, .label = "unseen"}).hide();
  Figure alone(1, 1);
  alone.panel(0, 0).line(numbers, squares);
  const std::string text = saved(figure, "hidden.svg");
  expect_valid_svg(text);
  EXPECT_EQ(count(text, "rgb(100%,0%,0%)") + count(text, "rgb(100%, 0%, 0%)"), 0U);
  EXPECT_LE(characters(text), characters(saved(alone, "alone.svg")));
}

TEST_F(Pictures, NonFiniteValuesBreakALine) {
  const auto pieces = [&](const std::vector<double>& y) {
    Figure figure(1, 1);
    figure.panel(0, 0).line(numbers, y, {.color = red});
    const std::string text = saved(figure, "line.svg");
    expect_valid_svg(text);
    return count(attribute(red_tag(text), "d"), "M ");
  };
  EXPECT_EQ(pieces({1, 2, 3, 4, 5}), 1U);
  EXPECT_EQ(pieces({1, 2, nan, 4, 5}), 2U);
  EXPECT_EQ(pieces({1, 2, -infinity, 4, 5}), 2U);
}

TEST_F(Pictures, OddDataStillMakesAPicture) {
  const std::vector<std::vector<double>> cases{{},
                                               {nan, infinity, -infinity},
                                               {3},
                                               {7, 7, 7},
                                               {0, 0},
                                               {-1e308, 1e308, 5},
                                               {-1e300, 1e300},
                                               {1e-320, 2e-320},
                                               {1, 1 + 1e-15},
                                               {-3, -2, 0},
                                               {nan, 1, nan, 2, nan}};
  for (const auto& values : cases) {
    for (const Scale scale : {Scale::linear, Scale::log}) {
      std::vector<double> x(values.size());
      std::iota(x.begin(), x.end(), 0.0);
      Figure figure(1, 2);
      figure.panel(0, 0).x_scale(scale).y_scale(scale);
      figure.panel(0, 0)
          .line(x, values)
          .points(x, values, {.label = "p"})
          .band(x, values, x)
          .area(x, values)
          .rule(nan);
      figure.panel(0, 1).x_scale(scale).y_scale(scale).histogram(values).density(values, {.label = "d"});
      expect_valid_svg(saved(figure, "odd.svg"));
      EXPECT_NO_THROW(png_chunks(saved(figure, "odd.png")));
    }
  }
}

TEST_F(Pictures, LogAxisSkipsNonPositiveValues) {
  Figure figure(1, 1);
  figure.panel(0, 0)
      .y_scale(Scale::log)
      .points(numbers, std::vector<double>{-1, 0, 1, 10, 100}, {.color = red});
  const std::string text = saved(figure, "log.svg");
  expect_valid_svg(text);
  EXPECT_EQ(count(attribute(red_tag(text), "d"), "M "), 3U);
}

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(Pictures, AFileThatCannotBeWrittenIsNamedWithTheReason) {
  Figure figure(1, 1);
  const std::string missing = path("no/such/folder.png");
  const std::string message = message_of([&] { figure.save(missing); });
  EXPECT_THAT(message, HasSubstr(missing));
  EXPECT_THAT(message, HasSubstr("No such file or directory"));
  EXPECT_THAT(message_of([&] { figure.save(path("a.jpg")); }), HasSubstr(".svg or .png"));
  EXPECT_THROW(figure.save(path("png")), UsageError);
}

TEST_F(Pictures, WrongRequestsAreRefused) {
  EXPECT_THAT(message_of([] { Figure(0, 1); }), HasSubstr("rows"));
  EXPECT_THAT(message_of([] { Figure(1, 1, nan); }), HasSubstr("nan"));
  EXPECT_THAT(message_of([] { Figure(1, 1, 16, 1e6); }), HasSubstr("200 cm"));
  Figure figure(2, 1);
  Panel& panel = figure.panel(1, 0);
  EXPECT_THAT(message_of([&] { figure.panel(0, 1); }), HasSubstr("(0, 1)"));
  EXPECT_THAT(message_of([&] { panel.line(numbers, std::vector<double>{1}); }), HasSubstr("5 and 1"));
  EXPECT_THAT(message_of([&] { panel.x_range(1, 1); }), HasSubstr("from 1 to 1"));
  EXPECT_THAT(message_of([&] { panel.y_range(0, infinity); }), HasSubstr("inf"));
  EXPECT_THAT(message_of([&] { panel.line(numbers, squares, {.size = -1}); }), HasSubstr("-1"));
  EXPECT_THAT(message_of([&] { figure.column_widths({1, 2}); }), HasSubstr("1 positive"));
  panel.y_range(0, 1).y_scale(Scale::log);
  EXPECT_THAT(message_of([&] { figure.save(path("a.svg")); }), HasSubstr("log axis"));
  EXPECT_THAT(message_of([&] { Figure(40, 40).save(path("a.svg")); }), HasSubstr("no room"));
  EXPECT_FALSE(fs::exists(path("a.svg")));
}

Chains wave(std::size_t chains, std::size_t draws) {
  Chains result(chains, std::vector<double>(draws));
  for (std::size_t c = 0; c < chains; ++c) {
    for (std::size_t i = 0; i < draws; ++i)
      result[c][i] = std::sin(12.9898 * static_cast<double>(i * chains + c + 1));
  }
  return result;
}

TEST_F(Pictures, RunPictureShowsAtMostSixParameters) {
  std::vector<NamedChains> parameters;
  const auto height = [&] {
    run_picture(path("run.png"), parameters);
    return big_endian(read(path("run.png")), 20);
  };
  parameters.push_back({"mu", wave(4, 200)});
  const auto one = height();
  for (int i = 0; i < 5; ++i) parameters.push_back({"theta", wave(4, 200)});
  const auto six = height();
  parameters.push_back({"more", wave(4, 200)});
  EXPECT_LT(one, six);
  EXPECT_EQ(height(), six);
}

TEST_F(Pictures, RunPictureTakesNumbersThatStandAloneFirst) {
  const auto order = [](std::vector<std::string> names) { return by_importance(names); };
  EXPECT_THAT(order({"theta.1", "theta.2", "theta.3", "mu", "tau"}), ElementsAre(3, 4, 0, 1, 2));
  // The first entries of each vector; names with dots that do not count are names.
  EXPECT_THAT(order({"a.1", "a.2", "b[1,1]", "b[1,2]", "x.y", "2.5"}), ElementsAre(4, 5, 0, 2, 1, 3));

  std::vector<NamedChains> schools;
  for (int i = 1; i <= 8; ++i) schools.push_back({"theta." + std::to_string(i), wave(2, 50)});
  schools.push_back({"mu", wave(2, 50)});
  schools.push_back({"tau", wave(2, 50)});
  run_picture(path("schools.svg"), schools);
  const std::string text = read(path("schools.svg"));
  expect_valid_svg(text);
  const auto fewer = std::vector<NamedChains>(schools.begin(), schools.begin() + 8);
  run_picture(path("fewer.svg"), fewer);
  EXPECT_NE(read(path("fewer.svg")), text);
}

TEST_F(Pictures, RunPictureShowsOneOfTwoThatAddUpToOne) {
  Chains p = wave(2, 100), q = p;
  for (auto& chain : p)
    for (double& x : chain) x = 0.5 + 0.4 * x;
  for (std::size_t c = 0; c < 2; ++c)
    for (std::size_t i = 0; i < 100; ++i) q[c][i] = 1 - p[c][i];
  const auto height = [&](const std::vector<NamedChains>& parameters) {
    run_picture(path("p.png"), parameters);
    return big_endian(read(path("p.png")), 20);
  };
  const auto one = height({{"p.1.1", p}});
  EXPECT_NEAR(height({{"p.1.1", p}, {"p.1.2", q}}), one, 1);
  EXPECT_GT(height({{"p.1.1", p}, {"p.1.2", p}}), one + 50);
}

TEST_F(Pictures, PredictionsOverOneInput) {
  PredictionBand band{.x = {2, 0, 1}, .middle = {4, 0, 1}, .low = {3, -1, 0}, .high = {5, 1, 2}};
  prediction_picture(path("p.svg"), band, {0.5, 1.5}, {0.1, 2.0});
  expect_valid_svg(read(path("p.svg")));
  prediction_picture(path("p.png"), band);
  band.low.pop_back();
  EXPECT_THAT(message_of([&] { prediction_picture(path("q.svg"), band); }), HasSubstr("3, 2 and 3"));
  EXPECT_THAT(message_of([&] { prediction_picture(path("q.svg"), {}); }), HasSubstr("no predictions"));
}

TEST_F(Pictures, RunPictureOfLongChainsStaysSmall) {
  run_picture(path("run.svg"), {{"mu", wave(2, 100000)}});
  const std::string text = read(path("run.svg"));
  expect_valid_svg(text);
  EXPECT_LT(text.size(), 300000U);
}

TEST_F(Pictures, RunPictureSurvivesOddChains) {
  std::vector<NamedChains> parameters{{"none", {}},
                                      {"empty", {{}, {}}},
                                      {"one", {{1}, {2}}},
                                      {"constant", {{3, 3, 3, 3, 3}}},
                                      {"nan", {{nan, 1, 2, 3, 4, infinity}}}};
  parameters.push_back({"many", wave(20, 10)});
  run_picture(path("odd.svg"), parameters);
  expect_valid_svg(read(path("odd.svg")));
  EXPECT_THAT(message_of([&] { run_picture(path("x.svg"), {}); }), HasSubstr("no draws"));
  EXPECT_THAT(message_of([&] { run_picture(path("x.svg"), {{"mu", {}}}); }), HasSubstr("x.svg"));
}

}  // namespace
}  // namespace onward::plot
