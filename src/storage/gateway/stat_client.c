/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/gateway/stat_client.h"

const struct adv_kit_stat_kind adv_gateway_stat_kind = {
	.control = &adv_kit_control_gateway,
	.list = {{"Server", "servers", "server", NULL},
		 {"Client", "clients", "client", "connections"}},
	.counts = {"calls", "errors", "call_bytes", "reply_bytes", "timed_calls", "ns"},
};

struct adv_gateway_rates adv_gateway_stat_rates(const struct adv_kit_stat_row *now,
						const struct adv_kit_stat_row *last, double seconds)
{
	double per = seconds > 0 ? 1 / seconds : 0;
	struct adv_gateway_counts grown;

	adv_kit_stat_growth(now, last, &grown, sizeof(grown));
	return (struct adv_gateway_rates){
		.calls = (double)grown.calls * per,
		.call_bytes = (double)grown.call_bytes * per,
		.reply_bytes = (double)grown.reply_bytes * per,
		.us = grown.timed ? (double)grown.ns / 1000 / (double)grown.timed : 0,
		.errors = grown.errors,
	};
}
