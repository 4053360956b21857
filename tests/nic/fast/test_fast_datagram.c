/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Datagrams of several packets on the fast path: what the first packet proves for the others. */
#include "../requester/requester_bed.h"

/* A WRITE of 8 bytes to bed.b, in a datagram. */
struct write {
	struct bed *bed;
	const struct end *to;
	struct adv_gid from;
	uint32_t psn;
	uint64_t datagram;
	uint16_t pkey;
};

static void deliver(const struct write *w)
{
	struct node *node = &w->bed->net->node[1];
	struct adv_rx_meta meta = {.sgid = w->from, .dgid = node->gid[0]};
	struct adv_headers h = {.bth = {.opcode = ADV_OP_WRITE_ONLY, .pkey = w->pkey}};
	uint8_t data[ADV_HEADERS_MAX + 8] = {0};
	struct adv_rx_packet pkt = {.meta = &meta, .data = data, .datagram = w->datagram};

	h.bth.dest_qpn = adv_qp_num(w->to->qp);
	h.bth.psn = w->psn;
	h.reth.va = w->bed->rb->iova;
	h.reth.rkey = w->bed->rb->key;
	h.reth.length = 8;
	pkt.len = (uint32_t)adv_headers_encode(&h, data) + 8;
	adv_engine_rx(node->e, w->bed->net->now, &pkt);
}

static uint64_t writes(const struct bed *bed)
{
	return counters(bed, 1)->rx_write_requests;
}

/* Returns a WRITE from the QP's peer with the expected PSN. */
static struct write open_write(struct bed *bed, struct options *o)
{
	*o = options_default(IBV_QPT_RC);
	bed_open(bed, o);
	return (struct write){.bed = bed,
			      .to = bed->b,
			      .from = bed->net->node[0].gid[0],
			      .psn = o->psn[0],
			      .datagram = 7,
			      .pkey = ADV_PKEY_DEFAULT};
}

static void abandon(struct bed *bed)
{
	net_abandon(bed->net);
	free(bed->log.w);
}

/* Packets of one datagram for two QPs. The second expects the PSN that the first expects next. */
static void test_two_qps(void **state)
{
	struct end *a, *b;
	struct options o;
	struct bed bed;
	struct write w = open_write(&bed, &o), other = w;

	o.psn[0]++;
	pair_open(bed.net, &o, &a, &b);
	other.to = b;
	other.psn++;
	for (unsigned i = 0; i < 4; i++) {
		deliver(&w);
		deliver(&other);
		w.psn++;
		other.psn++;
	}
	assert_int_equal(writes(&bed), 8);
	assert_int_equal(bed.b->qp->resp.epsn, o.psn[0] + 3);
	assert_int_equal(b->qp->resp.epsn, o.psn[0] + 4);
	abandon(&bed);
}

/* The next datagram may have another sender. */
static void test_next_datagram(void **state)
{
	struct options o;
	struct bed bed;
	struct write w = open_write(&bed, &o);

	deliver(&w);
	w.psn++;
	w.datagram++;
	w.from.raw[15] ^= 1;
	deliver(&w);
	assert_int_equal(writes(&bed), 1);
	assert_int_equal(counters(&bed, 1)->rx_bad_address, 1);
	abandon(&bed);
}

/* A packet whose sender is wrong proves nothing for the next one. */
static void test_wrong_first(void **state)
{
	struct options o;
	struct bed bed;
	struct write w = open_write(&bed, &o);

	w.from.raw[15] ^= 1;
	deliver(&w);
	deliver(&w);
	assert_int_equal(writes(&bed), 0);
	assert_int_equal(counters(&bed, 1)->rx_bad_address, 2);
	abandon(&bed);
}

/* Each packet's P_Key and the state of the QP count. */
static void test_other_pkey_and_state(void **state)
{
	struct options o;
	struct bed bed;
	struct write w = open_write(&bed, &o);

	deliver(&w);
	w.psn++;
	w.pkey = 0x1234;
	deliver(&w);
	assert_int_equal(counters(&bed, 1)->rx_bad_pkey, 1);
	w.pkey = ADV_PKEY_DEFAULT;
	assert_int_equal(end_to_state(bed.b, IBV_QPS_ERR), 0);
	deliver(&w);
	assert_int_equal(writes(&bed), 1);
	assert_int_equal(counters(&bed, 1)->rx_no_qp, 1);
	abandon(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_qps),
		cmocka_unit_test(test_next_datagram),
		cmocka_unit_test(test_wrong_first),
		cmocka_unit_test(test_other_pkey_and_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
