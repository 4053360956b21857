/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an engine counts. */
#ifndef ADV_NIC_ENGINE_COUNTERS_H
#define ADV_NIC_ENGINE_COUNTERS_H

#include <stdint.h>

#include "nic/engine/latency.h"

/* Counters, with the names of mlx5 and rxe. */
struct adv_engine_counters {
	uint64_t rx_packets;
	uint64_t tx_packets;
	uint64_t rx_malformed; /* packets that cannot be decoded, or have a wrong length for the
				  opcode */
	uint64_t rx_no_qp; /* packets for no existing QP, with another service than the QP's, or for
			      a QP in a state that does not receive */
	uint64_t rx_bad_pkey;
	uint64_t rx_bad_qkey;
	uint64_t rx_bad_address; /* packets whose source is not the connected peer, or whose
				    destination is not the QP's GID */
	uint64_t rx_bad_sender;	 /* packets from this machine, but not from the process that has the
				    sender's QP number */
	uint64_t duplicate_request;
	uint64_t out_of_sequence;
	uint64_t packet_seq_err; /* received NAKs for PSN sequence errors */
	uint64_t implied_nak_seq_err;
	uint64_t local_ack_timeout_err;
	uint64_t rnr_nak_sent;
	uint64_t rnr_nak_retry_err; /* RNR NAKs received */
	uint64_t out_of_buffer;	    /* messages that found no posted receive request */
	uint64_t req_transport_retries_exceeded;
	uint64_t req_rnr_retries_exceeded;
	uint64_t rx_write_requests;
	uint64_t rx_read_requests;
	uint64_t rx_atomic_requests;
	uint64_t resp_local_length_error;
	uint64_t resp_remote_access_errors; /* requests that the responder refused with an access
					       NAK */
	uint64_t req_remote_access_errors;
	uint64_t req_remote_invalid_request;
	uint64_t req_cqe_error;
	uint64_t resp_cqe_error;
	uint64_t uc_drops; /* UC and UD messages that were dropped */
	uint64_t np_ecn_marked_roce_packets;
	uint64_t np_cnp_sent;
	uint64_t rp_cnp_handled;
	uint64_t
		rp_cnp_ignored; /* valid CNPs without effect: no congestion control, or no memory */
	uint64_t out_of_memory; /* packets treated as lost, and CNPs ignored, for lack of memory */
};

#define ADV_ENGINE_COUNTERS (sizeof(struct adv_engine_counters) / sizeof(uint64_t))

/* What the program's requests amount to. */
struct adv_engine_work {
	uint64_t qps_created;
	uint64_t qps_destroyed;
	uint64_t recv_completed; /* receive requests that completed successfully */
	/* Send requests of all kinds that completed successfully, by the time from post to
	 * completion. */
	uint64_t send_latency[ADV_LATENCY_BUCKETS];
};

#endif
