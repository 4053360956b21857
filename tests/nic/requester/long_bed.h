/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two engines, of which the first sends long packets. The test carries their packets. */
#ifndef ADV_TESTS_NIC_REQUESTER_LONG_BED_H
#define ADV_TESTS_NIC_REQUESTER_LONG_BED_H

#include "../engine/harness.h"

#include <stdlib.h>

#include "base/list.h"

#define KIB  1024u
#define ROOM (512 * KIB)
#define MTU  4096u

/* Two engines, whose packets the test carries. */
static struct {
	struct net *net;
	struct end *a, *b;
	struct region *ra, *rb;
	bool away;	     /* payload stays at the sender */
	unsigned refuse;     /* pulls that fail */
	unsigned pulls;	     /* pulls that succeeded */
	unsigned packets;    /* packets from a to b */
	unsigned longs;	     /* of these, long ones */
	unsigned drop;	     /* long packets to drop */
	unsigned drop_short; /* other packets from a to b to drop */
	unsigned recalls;
	bool locked; /* a recall, which may wait for the reader, with the lock of windows */
	struct adv_headers last; /* headers of the newest packet from b to a */
} all;

static uint32_t long_payload(void *user, const struct adv_path *path, uint32_t dest_qpn,
			     uint32_t length)
{
	assert_ptr_equal(user, &all);
	assert_int_equal(dest_qpn, adv_qp_num(all.b->qp));
	return ADV_LONG_MAX;
}

static void recall(void *user, const struct adv_path *path, const void *addr, uint64_t length)
{
	if (atomic_flag_test_and_set(&all.a->node->e->tpt->windows_lock))
		all.locked = true;
	else
		atomic_flag_clear(&all.a->node->e->tpt->windows_lock);
	assert_true(path || length);
	all.recalls++;
}

struct remote {
	struct adv_rx_source source;
	const struct adv_tx_packet *pkt;
};

/* Copies the payload of the packet in pieces, as process_vm_readv(2) does. */
static bool pull(struct adv_rx_source *source, const struct iovec *to, unsigned count)
{
	const struct adv_tx_packet *pkt = adv_container_of(source, struct remote, source)->pkt;
	uint8_t flat[ADV_LONG_MAX], *at = flat;

	for (unsigned i = 0; i < pkt->iov_count; i++) {
		memcpy(at, pkt->iov[i].iov_base, pkt->iov[i].iov_len);
		at += pkt->iov[i].iov_len;
	}
	assert_int_equal(at - flat, source->length);
	if (all.refuse) {
		all.refuse--;
		memset(to[0].iov_base, 0xee, to[0].iov_len); /* undefined contents */
		return false;
	}
	at = flat;
	for (unsigned i = 0; i < count; i++) {
		memcpy(to[i].iov_base, at, to[i].iov_len);
		at += to[i].iov_len;
	}
	assert_int_equal(at - flat, source->length);
	all.pulls++;
	return true;
}

static void deliver(struct end *to, const struct adv_tx_packet *pkt)
{
	static uint8_t flat[ADV_HEADERS_MAX + ADV_LONG_MAX + 4];
	struct adv_rx_meta meta = {.sgid = pkt->path->sgid, .dgid = pkt->path->dgid, .slot = 2};
	struct remote remote = {.source = {pull, pkt->payload_len}, .pkt = pkt};
	struct adv_rx_packet rx = {.meta = &meta, .data = flat, .more = pkt->more};
	uint8_t *at = flat + pkt->header_len;

	memcpy(flat, pkt->header, pkt->header_len);
	if (all.away && pkt->more)
		rx.source = &remote.source;
	for (unsigned i = 0; !rx.source && i < pkt->iov_count; i++) {
		memcpy(at, pkt->iov[i].iov_base, pkt->iov[i].iov_len);
		at += pkt->iov[i].iov_len;
	}
	rx.len = pkt->header_len + pkt->payload_len + pkt->pad;
	adv_engine_rx(to->node->e, all.net->now, &rx);
}

/* Carries one batch. Returns its length. */
static unsigned carry(struct end *from, struct end *to)
{
	static struct adv_tx_batch batch;
	unsigned n = adv_engine_tx(from->node->e, all.net->now, &batch);

	for (unsigned i = 0; i < n; i++) {
		const struct adv_tx_packet *pkt = &batch.packet[i];

		if (from == all.b)
			adv_headers_decode(pkt->header, pkt->header_len, &all.last);
		all.packets += from == all.a;
		all.longs += from == all.a && pkt->more;
		if (pkt->more && all.drop)
			all.drop--;
		else if (from == all.a && !pkt->more && all.drop_short)
			all.drop_short--;
		else
			deliver(to, pkt);
	}
	return n;
}

static inline void carry_all(void)
{
	for (unsigned i = 0; i < 1000 && carry(all.a, all.b) + carry(all.b, all.a); i++)
		all.net->now += US;
	net_check(all.net);
	end_poll(all.a);
	end_poll(all.b);
}

static int open_ends(void **state, enum ibv_qp_type type, uint8_t retry_cnt)
{
	struct adv_engine_config c = {.seed = {1}, .window = 256, .local_memory = true};
	struct options o = options_default(type);

	memset(&all, 0, sizeof(all));
	o.retry_cnt = retry_cnt;
	o.mtu = IBV_MTU_4096;
	all.net = net_open_config(2, &c);
	all.ra = region_open(&all.net->node[0], ROOM, ALL_ACCESS);
	all.rb = region_open(&all.net->node[1], ROOM, ALL_ACCESS);
	region_fill(all.ra, 1);
	pair_open(all.net, &o, &all.a, &all.b);
	all.a->qp->peer_is_here = all.b->qp->peer_is_here = true;
	adv_engine_set_long(all.a->node->e, long_payload, recall, &all);
	return 0;
}

static inline int open_rc(void **state)
{
	return open_ends(state, IBV_QPT_RC, 7);
}

static inline int open_without_retries(void **state)
{
	return open_ends(state, IBV_QPT_RC, 0);
}

static inline int close_ends(void **state)
{
	net_abandon(all.net);
	return 0;
}

static inline const struct adv_engine_counters *counters_of(struct end *end)
{
	return adv_engine_counters(end->node->e);
}

#endif
