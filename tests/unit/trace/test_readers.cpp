// Pieces of JSON, names in traces, spans.
#include "catch.hpp"
#include "support/written_file.hpp"

#include "readings/traces/json_pieces.hpp"
#include "readings/traces/traced.hpp"

#include <fabricost/error.hpp>

using namespace fabricost::observe;

namespace {

struct Read {
  std::vector<std::string> members, elements;
};

Read read(const std::string& text) {
  const fabricost::test::WrittenFile file(text, "pieces.json");
  Read out;
  JsonPieces(file.path()).read(
      "list", [&](std::string_view key, std::string_view value) { out.members.push_back(std::string{key} + "=" + std::string{value}); },
      [&](std::string_view value) { out.elements.emplace_back(value); });
  return out;
}

}  // namespace

TEST_CASE("a document in pieces: members, and the elements of one list") {
  const Read r = read(R"({"a": {"b": [1, "]}"]}, "list": [{"x": "\"}"}, 2.5e3 , [true]], "c\\": "t\\", "d": null})");
  CHECK(r.members == std::vector<std::string>{R"(a={"b": [1, "]}"]})", R"(c\\="t\\")", "d=null"});
  CHECK(r.elements == std::vector<std::string>{R"({"x": "\"}"})", "2.5e3", "[true]"});
  CHECK(read("[1,2]").elements == std::vector<std::string>{"1", "2"});
  CHECK(read(R"({"list": []})").elements.empty());
}

TEST_CASE("pieces are the same wherever blocks of the file end") {
  std::string text = "{\"list\": [";
  std::vector<std::string> expected;
  for (int i = 0; i < 70000; ++i) {  // some MB: several blocks
    const std::string digits(static_cast<std::size_t>(i % 40), '7');
    expected.push_back("{\"name\": \"k" + std::to_string(i) + "\\\\\", \"t\": [" + digits + "1]}");
    text += (i == 0 ? "" : ",\n") + expected.back();
  }
  CHECK(read(text + "]}").elements == expected);
}

TEST_CASE("what is no JSON is refused at its line and column") {
  for (const char* bad : {"", "x", "{", R"({"a" 1})", R"({"a": [})", R"({"a": "b)", R"({"list": [1 2]})", R"({"a": 1} 2)", "[[}"})
    CHECK_THROWS_AS(read(bad), SpecError);
  try {
    (void)read("{\"a\": 1,\n  \"b\": [1, 2}\n}");
    FAIL("it was read");
  } catch (const SpecError& error) {
    CHECK(error.issues().front().line == 2);
    CHECK(error.issues().front().column == 8);
  }
}

TEST_CASE("members of a map in memory, and what breaks them") {
  JsonMembers all(R"({"a" : 1, "b":[2,{"c":"}"}] })");
  REQUIRE(all.next());
  CHECK(all.key == "a");
  CHECK(all.value == "1");
  REQUIRE(all.next());
  CHECK(all.value == R"([2,{"c":"}"}])");
  CHECK_FALSE(all.next());
  CHECK_FALSE(all.broken());
  for (const char* bad : {R"({"a"})", R"({"a":})", R"({a:1})", R"({"a":1 "b":2})", "7"}) {
    JsonMembers broken(bad);
    while (broken.next()) {}
    CHECK(broken.broken());
  }
}

TEST_CASE("microseconds are read to the nanosecond") {
  std::int64_t ns = 0;
  const auto is = [&](std::string_view text, std::int64_t expected) { return nanoseconds(text, ns) && ns == expected; };
  CHECK(is("1365627949863.953", 1365627949863953));
  CHECK(is("21", 21000));
  CHECK(is("\"0.5\"", 500));
  CHECK(is("-0.25", -250));
  CHECK(is("1e3", 1000000));
  CHECK(is("1.0009999", 1000));
  for (const char* bad : {"", "x", "1.5x", "9e99", "nan", "99999999999999999999"}) CHECK_FALSE(nanoseconds(bad, ns));
}

TEST_CASE("kernels of communication are told by their names") {
  const auto is = [](std::string_view kernel, Moves moves) { return moves_of_kernel(kernel) == std::optional{moves}; };
  CHECK(is("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Moves::all_reduce));
  CHECK(is("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)", Moves::send_recv));
  CHECK(is("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(x)", Moves::reduce_scatter));
  CHECK(is("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", Moves::unknown));
  CHECK(is("void dpsk::ep::internode::dispatch<false, 8, true, 8>(int4*)", Moves::moe_dispatch));
  CHECK(is("void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>(x)", Moves::moe_combine));
  CHECK(is("void deep_ep::internode::notify_dispatch<false, 8>(int const*)", Moves::moe_layout));
  CHECK(is("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(x)", Moves::all_reduce));
  CHECK_FALSE(moves_of_kernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"));
  CHECK_FALSE(moves_of_kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(x)"));
  CHECK_FALSE(moves_of_kernel("void step::dispatch_rows<int>(int)"));
}

TEST_CASE("what bounds a kernel is told by its name") {
  const auto is = [](std::string_view kernel, Work work) { return work_of_kernel(kernel) == work; };
  CHECK(is("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
           Work::product));
  CHECK(is("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_TNT", Work::product));
  CHECK(is("Cijk_Ailk_Bljk_BBS_BH_MT32x32x64_MI16x16x16x1_SN_1LDSB0", Work::product));
  CHECK(is("void cutlass::device_kernel<dpsk::grouped_gemm::cuda::m_grouped_fp8_ptp128c::GemmKernel>(x)", Work::product_8));
  CHECK(is("void cutlass::device_kernel<flash::FlashAttnBwd<flash::CollectiveMainloopBwd<2> > >(x)", Work::attention));
  CHECK(is("void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<cute::tuple<cute::C<64> > > >(x)", Work::memory));
  CHECK(is("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4> >(pytorch_flash::Flash_fwd_params)",
           Work::attention_old));
  CHECK(is("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3", Work::attention));
  CHECK(is("void splitKreduce_kernel<float, float, float, float, true, false, false>(cublasSplitKParams<float>)", Work::memory));
  CHECK(is("void dpsk::grouped_gemm::cuda::utils::transpose<512, 128, 4, 4>(unsigned char const*)", Work::memory));
  CHECK(is("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(x)", Work::memory));
  CHECK(is("triton_poi_fused_add_mul_3", Work::memory));
  CHECK(is("my_own_kernel(float*)", Work::unknown));
  CHECK(is("", Work::unknown));
  CHECK(work_of_copy("Memcpy HtoD (Pinned -> Device)") == Work::host_copy);
  CHECK(work_of_copy("Memcpy DtoD (Device -> Device)") == Work::memory);
}

TEST_CASE("operations and element types by the profiler's words") {
  CHECK(moves_named("_allgather_base") == Moves::all_gather);
  CHECK(moves_named("_reduce_scatter_base") == Moves::reduce_scatter);
  CHECK(moves_named("reduce_scatter_tensor_coalesced") == Moves::reduce_scatter);
  CHECK(moves_named("all_to_allv") == Moves::all_to_all);
  CHECK(moves_named("nccl:all_reduce") == Moves::all_reduce);
  CHECK(moves_named("reduce") == Moves::reduce);
  CHECK(moves_named("wait") == Moves::unknown);
  CHECK(type_named("c10::BFloat16").width == 2);
  CHECK(type_named("long int").width == 8);
  CHECK(type_named("Float8_e4m3fn").width == 1);
  CHECK(type_named("unheard").width == 0);
}

TEST_CASE("spans that touch are one") {
  std::vector<Span> spans{{5, 9}, {0, 3}, {3, 4}, {6, 7}, {20, 21}};
  unite(spans);
  REQUIRE(spans.size() == 3);
  CHECK(spans[0].to == 4);
  CHECK(spans[1].to == 9);
  CHECK(spans[2].from == 20);
}
