/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_server/stat_client.h"

const struct adv_kit_stat_kind adv_nvme_stat_kind = {
	.control = &adv_kit_control_target,
	.list = {{"Namespace", "namespaces", "subsystem", "bytes"},
		 {"Host", "hosts", "host", "controllers"}},
	.counts = {"reads", "writes", "others", "errors", "read_bytes", "write_bytes", "read_ns",
		   "write_ns", "other_ns"},
};
_Static_assert(sizeof(struct adv_nvme_stats) == ADV_KIT_STAT_COUNTS * sizeof(uint64_t),
	       "each count has a key");
_Static_assert(ADV_NVME_NQN_LEN <= ADV_KIT_STAT_NAME, "a row has room for an NQN");

static double mean_us(uint64_t ns, uint64_t commands)
{
	return commands ? (double)ns / 1000 / (double)commands : 0;
}

struct adv_nvme_rates adv_nvme_stat_rates(const struct adv_kit_stat_row *now,
					  const struct adv_kit_stat_row *last, double seconds)
{
	double per = seconds > 0 ? 1 / seconds : 0;
	struct adv_nvme_stats grown;

	adv_kit_stat_growth(now, last, &grown, sizeof(grown));
	return (struct adv_nvme_rates){
		.reads = (double)grown.reads * per,
		.writes = (double)grown.writes * per,
		.read_bytes = (double)grown.read_bytes * per,
		.write_bytes = (double)grown.write_bytes * per,
		.read_us = mean_us(grown.read_ns, grown.reads),
		.write_us = mean_us(grown.write_ns, grown.writes),
		.errors = grown.errors,
	};
}
