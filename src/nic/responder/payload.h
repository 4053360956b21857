/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies payload from and to the memory of the application. */
#ifndef ADV_NIC_RESPONDER_PAYLOAD_H
#define ADV_NIC_RESPONDER_PAYLOAD_H

#include "nic/queue/qp_state.h"

/* Adds bytes [offset, offset + length) of the request's data to the packet. Returns false with *why
 * if a region was deregistered or does not permit the access. */
bool adv_payload_gather(struct adv_qp *qp, const struct adv_send_wqe *wqe, uint32_t offset,
			uint32_t length, struct adv_tx_batch *batch, struct adv_tx_packet *pkt,
			enum adv_vendor_err *why);
/* Copies data into the SGEs' memory from byte `offset` on. Returns false like
 * adv_payload_gather(). */
bool adv_payload_scatter(struct adv_qp *qp, const struct ibv_sge *sge, uint32_t num_sge,
			 uint64_t offset, const uint8_t *data, uint32_t length,
			 enum adv_vendor_err *why);
/* Copies the bytes of a WRITE. The last byte becomes visible last, because programs poll it. */
void adv_payload_store(uint8_t *to, const uint8_t *from, uint32_t length);
/*
 * Finds the memory for bytes [offset, offset + length) of the SGEs and brings in its pages; length
 * is not 0. need: the access, as for adv_mr_resolve(). Returns the number of ranges in ranges[],
 * which has room for ADV_MAX_SGE; 0: failed like adv_payload_gather().
 */
unsigned adv_payload_ranges(struct adv_qp *qp, const struct ibv_sge *sge, uint32_t num_sge,
			    uint64_t offset, uint32_t length, int need, struct iovec *ranges,
			    enum adv_vendor_err *why);
/* Copies the bytes of a WRITE from the sender's memory. The last byte becomes visible last. Returns
 * false like adv_rx_source.pull(). */
bool adv_payload_pull(struct adv_rx_source *source, uint8_t *to);
/* True if all SGEs lie in regions of the QP's PD that grant `need`. Else *why has the cause. */
bool adv_payload_sges_good(struct adv_qp *qp, const struct ibv_sge *sge, uint32_t num_sge, int need,
			   enum adv_vendor_err *why);

#endif
