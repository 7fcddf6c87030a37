#pragma once
// The images of the paper's convolutional network: CIFAR-10, or files of its kind.

#include <string>

#include "onward/data/load.hpp"
#include "onward/io/array.hpp"
#include "onward/net/data.hpp"

namespace onward::experiments {

/// From a folder with files of CIFAR-10's names, of any number of images; without one CIFAR-10, which `onward
/// data get cifar10` fetches.
TrainAndTest load_cnn_images(const std::string& folder);

/// The images from `first` on.
LabelledImages images_from(const LabelledImages& images, std::size_t first);
/// The images before `count`.
LabelledImages images_before(LabelledImages images, std::size_t count);

/// What rows of the table share.
struct CnnData {
  Array pixels, labels;  ///< of all training images, those that are held out at the end
  net::Data held_out;    ///< the last training images again
  net::Data test;

  std::size_t train_count() const { return labels.size(); }
};
/// Throws UsageError if fewer than one image would be left.
CnnData load_cnn_data(const std::string& folder, std::size_t held_out);

}  // namespace onward::experiments
