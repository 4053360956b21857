/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <endian.h>

#include "harness.h"

#include "nic/cm/invariants.h"

struct adv_gid ipv4(unsigned last)
{
	struct adv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = (uint8_t)last}};

	return gid;
}

struct adv_cm_addr addr_of(const struct adv_gid *ip, uint16_t port)
{
	struct adv_cm_addr addr = {.family = AF_INET, .port = port, .ip = *ip};

	if (!adv_gid_is_ipv4(ip))
		addr.family = AF_INET6;
	return addr;
}

void node_open(struct node *n, unsigned number, uint64_t seed)
{
	node_open_with(n, number, seed, "0xffff");
}

void node_open_with(struct node *n, unsigned number, uint64_t seed, const char *pkeys)
{
	struct adv_cm_config config = {.seed = seed};
	char why[80];

	assert_true(adv_pkey_table_parse(pkeys, &config.pkeys, why, sizeof(why)));
	n->gid = ipv4(number);
	n->guid = 0xad0b000000000000u + number;
	config.node_guid = htobe64(n->guid);
	n->cm = adv_cm_create(&config);
	assert_non_null(n->cm);
}

void node_close(struct node *n)
{
	adv_cm_destroy(n->cm);
	n->cm = NULL;
}

int pair_setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	node_open(&p->a, 1, 11);
	node_open(&p->b, 2, 22);
	p->now = 5 * SEC;
	*state = p;
	return 0;
}

static void check_invariants(const struct adv_cm *cm)
{
	const char *broken = adv_cm_check(cm);

	if (broken)
		fail_msg("%s", broken);
}

int pair_teardown(void **state)
{
	struct pair *p = *state;

	check_invariants(p->a.cm);
	check_invariants(p->b.cm);
	node_close(&p->a);
	node_close(&p->b);
	free(p);
	return 0;
}

struct adv_cm_id *new_id(struct node *n, enum rdma_port_space ps)
{
	bool ud = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;
	struct adv_cm_id *id = adv_cm_id_create(n->cm, ps, ud ? IBV_QPT_UD : IBV_QPT_RC, n);

	assert_non_null(id);
	return id;
}

struct adv_cm_id *listener(struct node *n, enum rdma_port_space ps, bool any, unsigned backlog)
{
	struct adv_cm_id *id = new_id(n, ps);
	struct adv_cm_addr addr = addr_of(&n->gid, PORT);

	if (any)
		memset(addr.ip.raw + 12, 0, 4);
	assert_int_equal(adv_cm_bind(id, &addr, 0), 0);
	assert_int_equal(adv_cm_listen(id, backlog), 0);
	return id;
}

struct adv_cm_route route_to(const struct node *from, const struct node *to)
{
	struct adv_cm_route route = {
		.path = {.sgid = from->gid, .dgid = to->gid, .hop_limit = 64},
		.mtu = IBV_MTU_1024,
		.packet_life_time = 18,
	};

	return route;
}

struct adv_cm_id *routed(struct node *from, const struct node *to, enum rdma_port_space ps)
{
	struct adv_cm_addr local = addr_of(&from->gid, 0), remote = addr_of(&to->gid, PORT);
	struct adv_cm_route route = route_to(from, to);
	struct adv_cm_id *id = new_id(from, ps);

	assert_int_equal(adv_cm_set_peer(id, &local, &remote), 0);
	assert_int_equal(adv_cm_set_route(id, &route), 0);
	return id;
}

struct adv_cm_conn_param conn_param(uint32_t qpn, const char *private_data)
{
	struct adv_cm_conn_param param = {
		.qp_num = qpn,
		.qp_type = IBV_QPT_RC,
		.responder_resources = 3,
		.initiator_depth = 4,
		.retry_count = 6,
		.rnr_retry_count = 5,
		.private_data_len = (uint8_t)strlen(private_data),
	};

	memcpy(param.private_data, private_data, param.private_data_len);
	return param;
}

struct adv_cm_packet sent(struct pair *p, struct node *from)
{
	struct adv_cm_packet packet;
	struct adv_cm_mad mad;

	assert_true(adv_cm_tx(from->cm, p->now, &mad));
	memset(&packet, 0,
	       sizeof(packet)); /* also clears the padding, because packets are compared */
	assert_true(adv_cm_packet_decode(mad.data, sizeof(mad.data), &packet));
	assert_true(adv_gid_equal(&mad.path.sgid, &from->gid));
	assert_int_equal(mad.dest_qpn, 1);
	return packet;
}

void nothing_sent(struct pair *p, struct node *from)
{
	struct adv_cm_mad mad;

	assert_false(adv_cm_tx(from->cm, p->now, &mad));
}

void give_from(struct pair *p, struct node *to, const struct adv_gid *from,
	       const struct adv_cm_packet *packet)
{
	struct adv_rx_meta meta = {.sgid = *from, .dgid = to->gid, .sport = 0xc000};
	uint8_t mad[ADV_MAD_LEN];

	assert_true(adv_cm_packet_encode(packet, mad));
	adv_cm_rx(to->cm, p->now, &meta, mad, sizeof(mad));
}

void give(struct pair *p, struct node *to, const struct adv_cm_packet *packet)
{
	give_from(p, to, to == &p->a ? &p->b.gid : &p->a.gid, packet);
}

static bool carry(struct pair *p, struct node *from)
{
	struct adv_cm_mad mad;
	struct adv_rx_meta meta;
	struct node *to;

	if (!adv_cm_tx(from->cm, p->now, &mad))
		return false;
	to = adv_gid_equal(&mad.path.dgid, &p->a.gid) ? &p->a : &p->b;
	assert_true(adv_gid_equal(&mad.path.dgid, &to->gid));
	meta = (struct adv_rx_meta){.sgid = mad.path.sgid, .dgid = mad.path.dgid};
	adv_cm_rx(to->cm, p->now, &meta, mad.data, sizeof(mad.data));
	return true;
}

void pump(struct pair *p)
{
	unsigned i;

	for (i = 0; carry(p, &p->a) || carry(p, &p->b); i++)
		assert_true(i < 1000);
	check_invariants(p->a.cm);
	check_invariants(p->b.cm);
}

void pass(struct pair *p)
{
	uint64_t a = adv_cm_deadline(p->a.cm), b = adv_cm_deadline(p->b.cm);

	p->now = a < b ? a : b;
	assert_true(p->now != UINT64_MAX);
	adv_cm_expire(p->a.cm, p->now - 1);
	adv_cm_expire(p->b.cm, p->now - 1);
	nothing_sent(p, &p->a);
	nothing_sent(p, &p->b);
	adv_cm_expire(p->a.cm, p->now);
	adv_cm_expire(p->b.cm, p->now);
	check_invariants(p->a.cm);
	check_invariants(p->b.cm);
}

struct adv_cm_event event_of(struct node *n, enum rdma_cm_event_type type)
{
	struct adv_cm_event event;

	assert_true(adv_cm_next_event(n->cm, &event));
	assert_int_equal(event.type, type);
	return event;
}

void no_event(struct node *n)
{
	struct adv_cm_event event;

	assert_false(adv_cm_next_event(n->cm, &event));
}

struct connection requested(struct pair *p)
{
	struct adv_cm_conn_param param = conn_param(0x1001, "hello");
	struct connection c;

	c.listen = listener(&p->b, RDMA_PS_TCP, true, 4);
	c.active = routed(&p->a, &p->b, RDMA_PS_TCP);
	assert_int_equal(adv_cm_connect(c.active, p->now, &param), 0);
	pump(p);
	c.passive = event_of(&p->b, RDMA_CM_EVENT_CONNECT_REQUEST).id;
	adv_cm_request_taken(c.passive);
	return c;
}

struct connection responded(struct pair *p)
{
	struct adv_cm_conn_param param = conn_param(0x2002, "welcome");
	struct connection c = requested(p);

	assert_int_equal(adv_cm_accept(c.passive, p->now, &param), 0);
	pump(p);
	assert_ptr_equal(event_of(&p->a, RDMA_CM_EVENT_CONNECT_RESPONSE).id, c.active);
	return c;
}

struct connection connected(struct pair *p)
{
	struct connection c = responded(p);

	assert_int_equal(adv_cm_establish(c.active, p->now), 0);
	pump(p);
	assert_ptr_equal(event_of(&p->b, RDMA_CM_EVENT_ESTABLISHED).id, c.passive);
	return c;
}
