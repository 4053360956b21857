/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The names are from the Linux kernel's drivers/infiniband/hw/mlx5/counters.c, except
 * out_of_memory. */
#include "preload/hw_counters.h"

#include <stddef.h>
#include <string.h>

#include "base/array.h"

struct counter {
	const char *name;
	size_t offset; /* offset in struct adv_counters */
};

#define ENGINE(field)                                                                              \
	{                                                                                          \
#field, offsetof(struct adv_counters, engine.field)                                \
	}

static const struct counter counters[] = {
	ENGINE(duplicate_request),
	ENGINE(implied_nak_seq_err),
	ENGINE(local_ack_timeout_err),
	ENGINE(np_cnp_sent),
	ENGINE(np_ecn_marked_roce_packets),
	ENGINE(out_of_buffer),
	ENGINE(out_of_memory),
	ENGINE(out_of_sequence),
	ENGINE(packet_seq_err),
	ENGINE(req_cqe_error),
	ENGINE(req_remote_access_errors),
	ENGINE(req_remote_invalid_request),
	ENGINE(req_rnr_retries_exceeded),
	ENGINE(req_transport_retries_exceeded),
	ENGINE(resp_cqe_error),
	ENGINE(resp_local_length_error),
	ENGINE(resp_remote_access_errors),
	ENGINE(rnr_nak_retry_err),
	ENGINE(rp_cnp_handled),
	ENGINE(rp_cnp_ignored),
	ENGINE(rx_atomic_requests),
	ENGINE(rx_read_requests),
	ENGINE(rx_write_requests),
	{"rx_icrc_encapsulated", offsetof(struct adv_counters, link.rx_icrc_errors)},
};

const char *adv_hw_counter(const struct adv_counters *c, unsigned i, uint64_t *value)
{
	if (i >= ADV_ARRAY_SIZE(counters))
		return NULL;
	memcpy(value, (const char *)c + counters[i].offset, sizeof(*value));
	return counters[i].name;
}
