#include "host/twin_call.h"

#define ASMEVO_HOST
#include "kernelbench30/p01_square_matmul.hip"
#include "kernelbench30/p04_matrix_vector.hip"
#include "kernelbench30/p05_matrix_scalar.hip"
#include "kernelbench30/p12_diagonal_matmul.hip"
#include "kernelbench30/p16_matmul_transposed_a.hip"
#include "kernelbench30/p19_relu.hip"
#include "kernelbench30/p20_leaky_relu.hip"
#include "kernelbench30/p21_sigmoid.hip"
#include "kernelbench30/p22_tanh.hip"
#include "kernelbench30/p23_softmax.hip"
#include "kernelbench30/p24_log_softmax.hip"
#include "kernelbench30/p25_swish.hip"
#include "kernelbench30/p26_gelu.hip"
#include "kernelbench30/p27_selu.hip"
#include "kernelbench30/p28_hard_sigmoid.hip"
#include "kernelbench30/p29_softplus.hip"
#include "kernelbench30/p30_softsign.hip"
#include "kernelbench30/p31_elu.hip"
#include "kernelbench30/p32_hard_tanh.hip"
#include "kernelbench30/p36_rms_norm.hip"
#include "kernelbench30/p38_l1_norm.hip"
#include "kernelbench30/p40_layer_norm.hip"
#include "kernelbench30/p42_max_pool.hip"
#include "kernelbench30/p45_average_pool.hip"
#include "kernelbench30/p47_sum_reduction.hip"
#include "kernelbench30/p49_max_reduction.hip"
#include "kernelbench30/p51_argmax.hip"
#include "kernelbench30/p82_depthwise_conv.hip"
#include "kernelbench30/p88_new_gelu.hip"
#include "kernelbench30/p89_cumsum.hip"

namespace asmevo::host {
namespace {

constexpr Twin twins[] = {
    {"p01_square_matmul", run<p01_square_matmul>},
    {"p04_matrix_vector", run<p04_matrix_vector>},
    {"p05_matrix_scalar", run<p05_matrix_scalar>},
    {"p12_diagonal_matmul", run<p12_diagonal_matmul>},
    {"p16_matmul_transposed_a", run<p16_matmul_transposed_a>},
    {"p19_relu", run<p19_relu>},
    {"p20_leaky_relu", run<p20_leaky_relu>},
    {"p21_sigmoid", run<p21_sigmoid>},
    {"p22_tanh", run<p22_tanh>},
    {"p23_softmax", run<p23_softmax>},
    {"p24_log_softmax", run<p24_log_softmax>},
    {"p25_swish", run<p25_swish>},
    {"p26_gelu", run<p26_gelu>},
    {"p27_selu", run<p27_selu>},
    {"p28_hard_sigmoid", run<p28_hard_sigmoid>},
    {"p29_softplus", run<p29_softplus>},
    {"p30_softsign", run<p30_softsign>},
    {"p31_elu", run<p31_elu>},
    {"p32_hard_tanh", run<p32_hard_tanh>},
    {"p36_rms_norm", run<p36_rms_norm>},
    {"p38_l1_norm", run<p38_l1_norm>},
    {"p40_layer_norm", run<p40_layer_norm>},
    {"p40_layer_norm_sums", run<p40_layer_norm_sums>},
    {"p42_max_pool", run<p42_max_pool>},
    {"p45_average_pool", run<p45_average_pool>},
    {"p47_sum_reduction", run<p47_sum_reduction>},
    {"p49_max_reduction", run<p49_max_reduction>},
    {"p51_argmax", run<p51_argmax>},
    {"p82_depthwise_conv", run<p82_depthwise_conv>},
    {"p88_new_gelu", run<p88_new_gelu>},
    {"p89_cumsum", run<p89_cumsum>},
};

} // namespace

std::span<const Twin> kernelBenchTwins() {
  return twins;
}

std::vector<std::string> kernelBenchNames() {
  std::vector<std::string> names;
  for (const Twin& twin : twins)
    names.emplace_back(twin.name);
  return names;
}

} // namespace asmevo::host
