// Files: what is written is read again, in all three formats; what is broken is refused and changes nothing.
#include "check.h"

#include <lento/lento.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

using lento::Tensor;

int main() {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("lento-files-" + std::to_string(std::random_device()()));
  fs::create_directory(folder);
  const lento::TensorDict written{{"w", lento::arange(6).reshape({2, 3})}, {"inner.b", lento::ones({2})}};
  for (const char* name : {"x.npz", "x.safetensors"}) {
    lento::save(folder / name, written);
    const lento::TensorDict read = lento::load(folder / name);
    CHECK(read.size() == 2);
    CHECK(read.at("w").dtype() == lento::DType::int64);
    CHECK((read.at("w") == written.at("w")).all().item<bool>());
    CHECK(lento::load(folder / name, "inner.").contains("b"));
  }
  lento::save(folder / "x.safetensors", written, {{"step", "12"}});
  CHECK(lento::load_metadata(folder / "x.safetensors").at("step") == "12");
  lento::save(folder / "x.npy", written.at("inner.b"));
  CHECK(lento::load_tensor(folder / "x.npy").to_vector<float>() == std::vector<float>{1, 1});

  fs::resize_file(folder / "x.safetensors", fs::file_size(folder / "x.safetensors") - 1);
  try {
    (void)lento::load(folder / "x.safetensors");
    CHECK(false);
  } catch (const lento::FileError& error) {
    CHECK(std::string(error.what()).find("files.cpp:") != std::string::npos);
  }
  // A model goes to a file and comes back.
  lento::nn::Linear one(3, 2);
  lento::nn::Linear two(3, 2);
  lento::save(folder / "model.safetensors", one);  // any tree may be saved
  two.load_state_dict(lento::load(folder / "model.safetensors"));
  CHECK((one.weight == two.weight).all().item<bool>());
  fs::remove_all(folder);
}
