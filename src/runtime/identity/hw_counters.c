/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The names are from the Linux kernel's drivers/infiniband/hw/mlx5/counters.c, except
 * out_of_memory and qp_pkey_violations (P_KeyViolations of IBTA 14.2.5.6). */
#include "runtime/identity/hw_counters.h"

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
	{"qp_pkey_violations", offsetof(struct adv_counters, engine.rx_bad_pkey)},
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

bool adv_hw_counter_of_qp(const uint32_t share[ADV_ENGINE_COUNTERS], unsigned i, uint64_t *value)
{
	size_t at;

	if (i >= ADV_ARRAY_SIZE(counters))
		return false;
	at = counters[i].offset;
	/* The fast path counts WRITEs for the whole engine only. */
	if (at >= sizeof(struct adv_engine_counters) ||
	    at == offsetof(struct adv_counters, engine.rx_write_requests))
		return false;
	*value = share[at / sizeof(uint64_t)];
	return true;
}

const char *adv_hw_counter_of_port(const struct adv_counters *c, unsigned i, uint64_t *value)
{
	/* Some counters are always 0: there is no physical link, no switch and no virtual lane 15.
	 */
	const struct {
		const char *name;
		uint64_t value;
	} all[] = {
		{"symbol_error", 0},
		{"link_error_recovery", 0},
		{"port_rcv_remote_physical_errors", 0},
		{"port_rcv_switch_relay_errors", 0},
		{"port_xmit_constraint_errors", 0},
		{"port_rcv_constraint_errors", 0},
		{"local_link_integrity_errors", 0},
		{"VL15_dropped", 0},
		{"port_rcv_errors", c->link.rx_icrc_errors + c->link.rx_malformed},
		{"port_xmit_discards", c->link.tx_dropped},
		{"port_xmit_data", c->link.tx_bytes / 4},
		{"port_rcv_data", c->link.rx_bytes / 4},
		{"port_xmit_packets", c->link.tx_packets},
		{"port_rcv_packets", c->link.rx_packets},
	};

	if (i >= ADV_ARRAY_SIZE(all))
		return NULL;
	*value = all[i].value;
	return all[i].name;
}
