/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <string.h>

#include "transport.h"

struct end *step_end(struct world *w, const struct step *s)
{
	return &w->node[s->who & 1].end[(s->who >> 1) % ENDS];
}

/* ---- packets in flight ---- */

void packets_launch(struct world *w, const struct flight *like, const uint8_t *data, uint32_t len)
{
	struct flight *f;

	if (w->flights == FLIGHTS)
		return;
	f = &w->flight[w->flights++];
	*f = *like;
	f->len = len;
	/* A block of exactly the packet's size, so that a sanitizer detects a read past its end. */
	f->data = malloc(len ? len : 1);
	FUZZ_CHECK(f->data != NULL);
	memcpy(f->data, data, len);
}

static struct flight remove_flight(struct world *w, unsigned i)
{
	struct flight f = w->flight[i];

	w->flights--;
	memmove(&w->flight[i], &w->flight[i + 1], (w->flights - i) * sizeof(f));
	return f;
}

void packets_drop(struct world *w, unsigned i)
{
	struct flight f = remove_flight(w, i);

	free(f.data);
}

void packets_deliver(struct world *w, unsigned i)
{
	struct flight f = remove_flight(w, i);
	struct adv_rx_packet pkt = {.meta = &f.meta, .data = f.data, .len = f.len};

	adv_engine_rx(w->node[f.to].e, w->now, &pkt);
	model_check(w, &w->node[f.to], &f);
	world_take(w);
	free(f.data);
}

static bool is_for(const struct world *w, unsigned to, const struct flight *f, uint32_t qpn)
{
	if (adv_gid_is_multicast(&f->meta.dgid))
		return true;
	if (w->one_machine)
		return qpn >> 16 == to + 1;
	return adv_gid_equal(&f->meta.dgid, &w->node[to].gid[0]) ||
	       adv_gid_equal(&f->meta.dgid, &w->node[to].gid[1]);
}

/* Copies a packet's pieces into one block, like a link, and checks the rules for every packet. */
static void launch_sent_packet(struct world *w, unsigned from, const struct adv_tx_packet *pkt)
{
	static uint8_t data[PACKET_MAX];
	struct flight f = {.meta = {.sgid = pkt->path->sgid,
				    .dgid = pkt->path->dgid,
				    .sport = pkt->path->sport,
				    .tclass = (uint8_t)(pkt->path->tclass | pkt->ecn),
				    .hop_limit = pkt->path->hop_limit}};
	uint32_t len = pkt->header_len, payload = 0;
	struct adv_headers h;

	memcpy(data, pkt->header, len);
	model_check_sent(&w->node[from], pkt);
	for (unsigned i = 0; i < pkt->iov_count; i++) {
		payload += (uint32_t)pkt->iov[i].iov_len;
		FUZZ_CHECK(payload <= 4096);
		if (pkt->iov[i].iov_len)
			memcpy(data + len, pkt->iov[i].iov_base, pkt->iov[i].iov_len);
		len += (uint32_t)pkt->iov[i].iov_len;
	}
	FUZZ_CHECK(payload == pkt->payload_len && pkt->pad == (-payload & 3));
	memset(data + len, 0, pkt->pad);
	len += pkt->pad;
	FUZZ_CHECK(adv_headers_decode(data, len, &h) == pkt->header_len);
	FUZZ_CHECK(h.bth.pad == pkt->pad && h.bth.dest_qpn == pkt->dest_qpn);
	for (unsigned to = 0; to < NODES; to++) {
		f.to = to;
		if (is_for(w, to, &f, pkt->dest_qpn))
			packets_launch(w, &f, data, len);
	}
}

bool packets_pull(struct world *w)
{
	bool any = false;

	for (unsigned i = 0; i < NODES; i++) {
		unsigned n = adv_engine_tx(w->node[i].e, w->now, &w->batch);

		for (unsigned k = 0; k < n; k++)
			launch_sent_packet(w, i, &w->batch.packet[k]);
		any = any || n;
	}
	if (any) {
		model_check(w, NULL, NULL);
		world_take(w);
	}
	return any;
}

/* ---- changed packets ---- */

static uint32_t changed_value(uint32_t old, const struct step *s)
{
	switch (s->b % 4) {
	case 0:
		return old + (uint32_t)(int8_t)s->e;
	case 1:
		return old ^ s->e;
	case 2:
		return old ^ 1u << (s->e & 31);
	default:
		return s->e;
	}
}

/* Changes one field, selected by s->a. */
static void change_field(struct adv_headers *h, const struct step *s)
{
	switch (s->a % 20) {
	case 0:
		h->bth.opcode = (uint8_t)changed_value(h->bth.opcode, s);
		break;
	case 1:
		h->bth.opcode = (uint8_t)((h->bth.opcode & ADV_SERVICE_MASK) |
					  (changed_value(h->bth.opcode, s) & ADV_OP_MASK));
		break;
	case 2:
	case 3:
		h->bth.psn = changed_value(h->bth.psn, s) & ADV_PSN_MASK;
		break;
	case 4:
		h->bth.dest_qpn = changed_value(h->bth.dest_qpn, s) & ADV_QPN_MASK;
		break;
	case 5:
		h->bth.pad = changed_value(h->bth.pad, s) & 3;
		break;
	case 6:
		h->bth.pkey = (uint16_t)changed_value(h->bth.pkey, s);
		break;
	case 7:
		h->bth.ackreq = s->e & 1;
		h->bth.solicited = s->e & 2;
		break;
	case 8:
		h->deth.qkey = changed_value(h->deth.qkey, s);
		break;
	case 9:
		h->deth.src_qpn = changed_value(h->deth.src_qpn, s) & ADV_QPN_MASK;
		break;
	case 10:
		h->xrceth.xrcsrq = changed_value(h->xrceth.xrcsrq, s) & ADV_QPN_MASK;
		break;
	case 11:
		h->reth.va += (uint64_t)(int32_t)s->f;
		h->atomiceth.va += (uint64_t)(int32_t)s->f;
		break;
	case 12:
		h->reth.rkey = changed_value(h->reth.rkey, s);
		h->atomiceth.rkey = changed_value(h->atomiceth.rkey, s);
		break;
	case 13:
	case 14:
		h->reth.length = changed_value(h->reth.length, s);
		break;
	case 15:
	case 16:
		h->aeth.syndrome = (uint8_t)changed_value(h->aeth.syndrome, s);
		break;
	case 17:
		h->aeth.msn = changed_value(h->aeth.msn, s) & ADV_PSN_MASK;
		break;
	case 18:
		h->ieth.rkey = changed_value(h->ieth.rkey, s);
		break;
	default:
		h->feth.selectivity = (uint8_t)changed_value(h->feth.selectivity, s) & 3;
		h->feth.placement = (uint8_t)(s->f & 15);
	}
}

/* c: the packet; a: the field; b, e, f: the change; d: the length, if not 0; g: bit 0: the
 * original arrives first; bit 1: a packet in flight is dropped afterwards. */
void packets_mutate(struct world *w, const struct step *s)
{
	static uint8_t data[PACKET_MAX];
	struct flight like;
	struct adv_headers h;
	size_t old_len, new_len;
	uint32_t len;

	if (w->flights == 0)
		return;
	like = w->flight[s->c % w->flights];
	memset(&h, 0, sizeof(h));
	old_len = adv_headers_decode(like.data, like.len, &h);
	if (old_len == 0)
		return;
	change_field(&h, s);
	memset(data, 0, sizeof(data));
	new_len = adv_headers_encode(&h, data);
	if (new_len == 0)
		return;
	len = like.len - (uint32_t)old_len;
	memcpy(data + new_len, like.data + old_len, len);
	len += (uint32_t)new_len;
	if (s->d)
		len = (uint32_t)new_len + (s->d & 1 ? s->d % 4200 : len + s->d % 16 - 8) % 4200;
	if (s->g & 1)
		packets_deliver(w, s->c % w->flights);
	packets_launch(w, &like, data, len);
	if (w->flights)
		packets_deliver(w, w->flights - 1);
	if (w->flights && s->g & 2)
		packets_drop(w, s->c % w->flights);
}

/* ---- forged packets ---- */

static uint32_t forged_psn(const struct end *to, const struct step *s)
{
	const struct adv_qp *qp = to->qp;
	uint32_t base[4] = {0};

	if (qp) {
		base[0] = qp->resp.epsn;
		base[1] = qp->req.una_psn;
		base[2] = qp->req.next_psn;
		base[3] = qp->req.max_psn;
	}
	return (base[s->b & 3] + (uint32_t)(int8_t)s->d) & ADV_PSN_MASK;
}

static uint32_t forged_key(const struct node *node, const struct step *s)
{
	unsigned n = s->f % (REGIONS + WINDOWS);
	uint32_t key = n < REGIONS ? node->region[n].key : adv_mw_rkey(node->window[n - REGIONS]);

	return key + (s->f >> 8 & 1) * (s->f >> 9 & 0xff);
}

static void forge_headers(struct world *w, const struct step *s, struct adv_headers *h)
{
	struct end *to = step_end(w, s);
	const struct node *node = to->node;
	uint64_t va = node->region[s->f % (REGIONS + WINDOWS) % REGIONS].iova + (s->f >> 20);

	h->bth.opcode = s->a;
	if (to->qp && !(s->b & 4))
		h->bth.opcode = (uint8_t)((s->a & ADV_OP_MASK) | to->qp->service);
	h->bth.solicited = s->b & 8;
	h->bth.ackreq = s->b & 16;
	h->bth.pad = s->b >> 6;
	h->bth.pkey = s->b & 32 && s->e & 0x80000000 ? 0x7fff : ADV_PKEY_DEFAULT;
	h->bth.dest_qpn = s->d >> 8 == 0xff ? ADV_QPN_MULTICAST : to->qpn;
	h->bth.psn = forged_psn(to, s);
	h->deth.qkey = QKEY;
	h->deth.src_qpn = s->g & ADV_QPN_MASK;
	h->xrceth.xrcsrq = node->xrc_srq ? adv_srq_number(node->xrc_srq) : 0;
	h->reth.va = h->atomiceth.va = va;
	h->reth.rkey = h->atomiceth.rkey = h->ieth.rkey = forged_key(node, s);
	h->reth.length = s->e;
	h->atomiceth.swap_add = s->g;
	h->atomiceth.compare = s->h;
	h->aeth.syndrome = (uint8_t)s->e;
	h->aeth.msn = s->e >> 8;
	h->atomicacketh.original = s->g;
	h->immdt = s->h;
	h->feth.selectivity = s->h & 3;
	h->feth.placement = s->h >> 2 & 3;
}

/* a: opcode, with the end's service if bit 2 of b is 0; b: flags; c: length of the payload; d: PSN,
 * relative to an expected one; e: lengths, syndrome; f: key and address; h: multicast group,
 * another sender's address. */
void packets_forge(struct world *w, const struct step *s)
{
	static uint8_t data[PACKET_MAX];
	struct end *to = step_end(w, s);
	struct flight like = {.to = to->node->index};
	struct adv_headers h;
	size_t len;

	memset(&h, 0, sizeof(h));
	forge_headers(w, s, &h);
	if (to->qp && to->kind != END_UD) {
		like.meta.sgid = to->qp->path.dgid;
		like.meta.dgid = to->qp->path.sgid;
	} else {
		like.meta.sgid = end_peer(to)->node->gid[0];
		like.meta.dgid = to->node->gid[0];
	}
	if (h.bth.dest_qpn == ADV_QPN_MULTICAST)
		like.meta.dgid =
			(struct adv_gid){{[0] = 0xff, [1] = 0x0e, [15] = (uint8_t)(1 + s->h % 2)}};
	if ((s->h >> 28) == 0xf)
		like.meta.sgid.raw[15] ^= 0x40;
	like.meta.tclass = (uint8_t)(s->h >> 8);
	memset(data, (int)s->g, sizeof(data));
	len = adv_headers_encode(&h, data);
	if (len == 0 || w->flights == FLIGHTS)
		return;
	packets_launch(w, &like, data, (uint32_t)len + s->c % 4200);
	packets_deliver(w, w->flights - 1);
}
