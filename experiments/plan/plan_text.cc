#include "experiments/plan/plan_text.h"

#include <fmt/format.h>

#include "experiments/support/numbers.h"
#include "experiments/support/table.h"

namespace recto::experiments {
namespace {

double to_double(std::int64_t value) { return static_cast<double>(value); }

std::string text_of(ByteCount bytes) { return bytes_text(to_double(bytes.value())); }

std::string percent_2(double share) { return fmt::format("{:.2f} %", 100 * share); }

std::string title(const KvPlanOptions& options) {
  const KvShape& shape = options.pool.shape;
  const std::string place =
      options.kv_memory ? fmt::format("in {} of KV memory", text_of(*options.kv_memory))
                        : fmt::format("on {} x {}", shape.tensor_parallel, options.gpu.name);
  return fmt::format("{} {}, {} bytes per KV element, blocks of {}\n\n", options.model.name, place,
                     shape.kv_element_bytes, shape.block_size.value());
}

// Parts that add up to the card's memory.
std::string memory_text(const PoolSize& pool, const KvPlanOptions& options) {
  if (options.kv_memory) return "";
  Table table({{"memory of each card", Align::kLeft}, {"bytes"}, {""}, {"share"}});
  const auto add = [&](const std::string& name, ByteCount bytes) {
    const double share = to_double(bytes.value()) / to_double(options.gpu.memory.value());
    table.add_row({name, grouped(bytes.value()), text_of(bytes), percent_2(share)});
  };
  add("weights", pool.weight_bytes);
  add("reserve: context, activations", pool.reserve_bytes);
  add("KV blocks", pool.pool_bytes);
  add("less than a block", pool.remainder_bytes);
  add(fmt::format("left alone at utilization {}", options.pool.memory_utilization),
      pool.unused_bytes);
  add("the card", options.gpu.memory);
  return table.text() + "\n";
}

std::string pool_text(const KvPlan& plan, const KvPlanOptions& options) {
  const char* where = options.pool.shape.tensor_parallel > 1 ? ", on each card" : "";
  return fmt::format(
      "KV bytes    {} per token, {} per block{}\n"
      "KV pool     {} blocks of {} = {} tokens\n\n",
      grouped(plan.bytes_per_token.value()), grouped(plan.pool.block_bytes.value()), where,
      grouped(plan.pool.blocks.value()), options.pool.shape.block_size.value(),
      grouped(plan.pool.slots.value()));
}

std::string lengths_text(const KvPlan& plan, const KvPlanOptions& options) {
  if (plan.lengths.empty()) return "";
  Table table({{"request tokens"},
               {"blocks"},
               {"tail slots"},
               {"fit paged"},
               {fmt::format("fit at {} reserved", grouped(plan.max_length.value()))},
               {fmt::format("K and V of {}", grouped(options.batch))}});
  for (const LengthFit& fit : plan.lengths) {
    const RequestLength& length = fit.length;
    const std::string tokens = length.output == TokenCount(0)
                                   ? grouped(length.total().value())
                                   : fmt::format("{} + {}", grouped(length.prompt.value()),
                                                 grouped(length.output.value()));
    table.add_row({tokens, grouped(fit.blocks.value()), grouped(fit.tail_slots.value()),
                   grouped(fit.paged), grouped(fit.contiguous),
                   fmt::format("2 x {}", bytes_text(to_double(fit.batch_bytes.value()) / 2))});
  }
  std::string text = table.text();
  for (const LengthFit& fit : plan.lengths) {
    if (fit.paged > 0 || options.kv_memory) continue;
    const Result<std::int64_t> ranks =
        smallest_tensor_parallel(options.model, options.gpu, options.pool,
                                 options.pool.shape.block_size * fit.blocks.value());
    text += fmt::format("No request of {} tokens fits; {}.\n", grouped(fit.length.total().value()),
                        ranks.is_ok()
                            ? fmt::format("the smallest that suffices is --tp {}", ranks.value())
                            : "no number of these cards suffices");
  }
  return text + "\n";
}

std::string mean_lengths_text(const KvPlan& plan, const KvPlanOptions& options) {
  if (plan.mean_lengths.empty()) return "";
  const char* base = options.kv_memory ? "of pool" : "of card";
  Table table({{"mean tokens"},
               {"reserved: fit"},
               {"wasted"},
               {base},
               {"paged: fit"},
               {"wasted"},
               {base},
               {"times"}});
  const auto share = [&](const MeanFit& fit) {
    return percent_2(options.kv_memory ? fit.pool_share : fit.memory_share);
  };
  for (const MeanLengthFit& fit : plan.mean_lengths) {
    const double times = fit.contiguous.requests == 0
                             ? 0
                             : to_double(fit.paged.requests) / to_double(fit.contiguous.requests);
    table.add_row({grouped(fit.mean_length.value()), grouped(fit.contiguous.requests),
                   percent_2(fit.contiguous.waste_share), share(fit.contiguous),
                   grouped(fit.paged.requests), percent_2(fit.paged.waste_share), share(fit.paged),
                   times > 0 ? short_number(times) : "-"});
  }
  return fmt::format(
             "Requests of a mean length: {} slots reserved for each, against blocks, "
             "whose last one lacks\n{} tokens on average. Wasted: of the slots of a "
             "request, and of all that fit.\n",
             grouped(plan.max_length.value()),
             to_double(options.pool.shape.block_size.value() - 1) / 2) +
         table.text() + "\n";
}

}  // namespace

std::string plan_text(const KvPlan& plan, const KvPlanOptions& options) {
  std::string text = title(options) + memory_text(plan.pool, options) + pool_text(plan, options) +
                     lengths_text(plan, options) + mean_lengths_text(plan, options);
  text.pop_back();  // each part but the last is followed by a blank line
  return text;
}

std::string edge_text(const KvPlan& plan, const KvPlanOptions& options, std::int64_t times) {
  const std::int64_t contiguous = contiguous_requests(plan);
  if (contiguous == 0) return "";
  const auto edge = longest_mean_length(plan, options.pool.shape.block_size, contiguous * times);
  if (!edge) {
    return fmt::format("Blocks hold {} x {} requests at no mean length.\n", times, contiguous);
  }
  return fmt::format("Blocks hold {} x {} requests up to a mean length of {} tokens.\n", times,
                     contiguous, grouped(edge->value()));
}

std::string waste_edge_text(const KvPlan& plan, const KvPlanOptions& options, double percent) {
  return fmt::format("Blocks waste less than {} % of the {} from a mean length of {} tokens on.\n",
                     percent, options.kv_memory ? "pool" : "card",
                     grouped(shortest_mean_length(plan, options, percent / 100).value()));
}

std::string models_text() {
  Table table({{"model", Align::kLeft},
               {"parameters"},
               {"layers"},
               {"query heads"},
               {"KV heads"},
               {"head dim"},
               {"context"},
               {"KV per token, 2 bytes"}});
  for (const ModelSpec& model : model_table()) {
    table.add_row({model.name, fmt::format("{:.2f} G", to_double(model.parameter_count) / 1e9),
                   std::to_string(model.num_layers), std::to_string(model.num_q_heads),
                   std::to_string(model.num_kv_heads), std::to_string(model.head_dim),
                   grouped(model.max_context.value()), text_of(kv_bytes_per_token(model, {}))});
  }
  return table.text();
}

std::string gpus_text() {
  Table table({{"GPU", Align::kLeft},
               {"memory"},
               {"GB/s"},
               {"16-bit TFLOP/s"},
               {"8-bit TFLOP/s"},
               {"host GB/s"},
               {"peer GB/s"}});
  for (const GpuSpec& gpu : gpu_table()) {
    const auto scaled = [](double value, double unit) { return short_number(value / unit); };
    table.add_row({gpu.name, text_of(gpu.memory), scaled(gpu.memory_bandwidth_bytes_per_s, 1e9),
                   scaled(gpu.dense_16bit_flops_per_s, 1e12),
                   gpu.dense_8bit_flops_per_s ? scaled(*gpu.dense_8bit_flops_per_s, 1e12) : "-",
                   scaled(gpu.host_link_bytes_per_s, 1e9), scaled(gpu.peer_link_bytes_per_s, 1e9)});
  }
  return table.text();
}

}  // namespace recto::experiments
