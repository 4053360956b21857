/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/memory/mr.h"
#include "nic/memory/paging.h"
#include "nic/responder/payload.h"

bool adv_payload_sges_good(struct adv_qp *qp, const struct ibv_sge *sge, uint32_t num_sge, int need,
			   enum adv_vendor_err *why)
{
	for (uint32_t i = 0; i < num_sge; i++)
		if (!adv_mr_resolve(qp->engine, qp->pd, sge[i].lkey, sge[i].addr, sge[i].length,
				    need, why))
			return false;
	return true;
}

void adv_payload_store(uint8_t *to, const uint8_t *from, uint32_t length)
{
	if (length == sizeof(uint64_t) && ((uintptr_t)to & 7) == 0) {
		uint64_t v;

		memcpy(&v, from, sizeof(v));
		__atomic_store_n((uint64_t *)(void *)to, v, __ATOMIC_RELEASE);
	} else if (length) {
		memcpy(to, from, length - 1);
		__atomic_store_n(to + length - 1, from[length - 1], __ATOMIC_RELEASE);
	}
}

static void add_iov(struct adv_tx_batch *batch, struct adv_tx_packet *pkt, void *base, uint32_t len)
{
	struct iovec *iov = &batch->iov[batch->iov_used++];

	assert(batch->iov_used <= ADV_TX_BATCH_IOV);
	iov->iov_base = base;
	iov->iov_len = len;
	pkt->iov_count++;
	pkt->payload_len += len;
}

bool adv_payload_gather(struct adv_qp *qp, const struct adv_send_wqe *wqe, uint32_t offset,
			uint32_t length, struct adv_tx_batch *batch, struct adv_tx_packet *pkt,
			enum adv_vendor_err *why)
{
	if (length == 0)
		return true;
	if (wqe->num_sge == 0) {
		add_iov(batch, pkt, (uint8_t *)(uintptr_t)wqe->sge + offset, length);
		return true;
	}
	for (uint32_t i = 0; i < wqe->num_sge && length; i++) {
		const struct ibv_sge *sge = &wqe->sge[i];
		uint32_t n = sge->length - offset;
		uint8_t *p;

		if (offset >= sge->length) {
			offset -= sge->length;
			continue;
		}
		if (n > length)
			n = length;
		p = adv_mr_resolve(qp->engine, qp->pd, sge->lkey, sge->addr + offset, n,
				   ADV_ACCESS_LOCAL_READ, why);
		if (!p)
			return false;
		add_iov(batch, pkt, p, n);
		offset = 0;
		length -= n;
	}
	assert(length == 0);
	return true;
}

bool adv_payload_scatter(struct adv_qp *qp, const struct ibv_sge *sge, uint32_t num_sge,
			 uint64_t offset, const uint8_t *data, uint32_t length,
			 enum adv_vendor_err *why)
{
	for (uint32_t i = 0; i < num_sge && length; i++) {
		uint32_t n;
		uint8_t *p;

		if (offset >= sge[i].length) {
			offset -= sge[i].length;
			continue;
		}
		n = sge[i].length - (uint32_t)offset;
		if (n > length)
			n = length;
		p = adv_mr_resolve(qp->engine, qp->pd, sge[i].lkey, sge[i].addr + offset, n,
				   IBV_ACCESS_LOCAL_WRITE, why);
		if (!p)
			return false;
		memcpy(p, data, n);
		data += n;
		offset = 0;
		length -= n;
	}
	assert(length == 0);
	return true;
}

/* True if the region grants the range, whose pages it has brought in if it uses on-demand paging.
 */
static bool bring_in_range(struct adv_qp *qp, const struct ibv_sge *sge, uint64_t va,
			   uint32_t length, int need, enum adv_vendor_err *why)
{
	for (uint32_t at = 0; at < length; at += ADV_PAGED_AT_ONCE) {
		uint32_t left = length - at;

		if (!adv_mr_resolve(qp->engine, qp->pd, sge->lkey, va + at,
				    left < ADV_PAGED_AT_ONCE ? left : ADV_PAGED_AT_ONCE, need, why))
			return false;
	}
	return true;
}

unsigned adv_payload_ranges(struct adv_qp *qp, const struct ibv_sge *sge, uint32_t num_sge,
			    uint64_t offset, uint32_t length, int need, struct iovec *ranges,
			    enum adv_vendor_err *why)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < num_sge && length; i++) {
		uint64_t va = sge[i].addr + offset;
		uint32_t n = sge[i].length - (uint32_t)offset;

		if (offset >= sge[i].length) {
			offset -= sge[i].length;
			continue;
		}
		if (n > length)
			n = length;
		ranges[count].iov_len = n;
		ranges[count].iov_base =
			adv_mr_resolve(qp->engine, qp->pd, sge[i].lkey, va, n, need, why);
		if (!ranges[count++].iov_base)
			return 0;
		if (adv_mr_is_paged(qp->engine, sge[i].lkey) &&
		    !bring_in_range(qp, &sge[i], va, n, need, why))
			return 0;
		offset = 0;
		length -= n;
	}
	assert(length == 0);
	return count;
}

/* The last bytes of a WRITE take a detour, so that they are stored after all others. */
#define STORED_LAST 64u

bool adv_payload_pull(struct adv_rx_source *source, uint8_t *to)
{
	uint32_t behind = source->length < STORED_LAST ? source->length : STORED_LAST;
	uint8_t last[STORED_LAST];
	struct iovec iov[2] = {{to, source->length - behind}, {last, behind}};

	if (!source->pull(source, iov, 2))
		return false;
	adv_payload_store(to + source->length - behind, last, behind);
	return true;
}
