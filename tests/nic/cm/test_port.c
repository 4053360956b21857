/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Port spaces: the rules for binding, and for the choice of a request's listener. */
#include "nic/cm/address.h"
#include "nic/cm/port.h"
#include "harness.h"

#include "base/array.h"

enum where { ANY4, OWN4, OTHER4, ANY6, OWN6 };

static struct adv_cm_addr address(const struct pair *p, enum where where, uint16_t port)
{
	struct adv_gid gid = p->a.gid;
	struct adv_cm_addr addr;

	if (where == OTHER4)
		gid.raw[15] = 77;
	if (where == ANY4)
		memset(gid.raw + 12, 0, 4);
	if (where == ANY6 || where == OWN6)
		memset(gid.raw, 0, 16);
	if (where == OWN6)
		gid.raw[0] = 0xfd;
	addr = addr_of(&gid, port);
	addr.family = where == ANY6 || where == OWN6 ? AF_INET6 : AF_INET;
	return addr;
}

static int try_bind(struct pair *p, enum where where, unsigned flags, struct adv_cm_id **id)
{
	struct adv_cm_addr addr = address(p, where, PORT);

	*id = new_id(&p->a, RDMA_PS_TCP);
	return adv_cm_bind(*id, &addr, flags);
}

static void test_conflicts(void **state)
{
	static const struct {
		enum where first, second;
		unsigned first_flags, second_flags;
		int err;
	} cases[] = {
		{OWN4, OWN4, 0, 0, EADDRINUSE},
		{OWN4, OTHER4, 0, 0, 0},
		{OWN4, OWN6, 0, 0, 0},
		{OWN4, ANY4, 0, 0, EADDRINUSE},
		{ANY4, OTHER4, 0, 0, EADDRINUSE},
		{ANY4, ANY4, 0, 0, EADDRINUSE},
		{ANY4, ANY6, 0, 0, EADDRINUSE},
		{ANY4, ANY6, 0, ADV_CM_BIND_AFONLY, 0},
		{ANY6, ANY4, ADV_CM_BIND_AFONLY, 0, 0},
		{ANY6, OWN4, 0, 0, EADDRINUSE},
		{ANY6, OWN6, ADV_CM_BIND_AFONLY, ADV_CM_BIND_AFONLY, EADDRINUSE},
		{OWN4, OWN4, ADV_CM_BIND_REUSE, ADV_CM_BIND_REUSE, 0},
		{OWN4, OWN4, ADV_CM_BIND_REUSE, 0, EADDRINUSE},
		{OWN4, OWN4, 0, ADV_CM_BIND_REUSE, EADDRINUSE},
	};
	struct pair *p = *state;
	unsigned i;

	for (i = 0; i < ADV_ARRAY_SIZE(cases); i++) {
		struct adv_cm_id *first, *second;

		assert_int_equal(try_bind(p, cases[i].first, cases[i].first_flags, &first), 0);
		assert_int_equal(try_bind(p, cases[i].second, cases[i].second_flags, &second),
				 cases[i].err);
		if (cases[i].err) {
			assert_int_equal(adv_cm_id_local(second)->family, 0);
			adv_cm_id_destroy(first, p->now);
			assert_int_equal(p->a.cm->ports.count, 0);
			/* The port is free now, also for the id whose bind failed before. */
			struct adv_cm_addr addr = address(p, cases[i].second, PORT);

			assert_int_equal(adv_cm_bind(second, &addr, 0), 0);
			assert_int_equal(adv_cm_bind(second, &addr, 0), EINVAL);
			adv_cm_id_destroy(second, p->now);
			continue;
		}
		adv_cm_id_destroy(second, p->now);
		adv_cm_id_destroy(first, p->now);
	}
	assert_int_equal(p->a.cm->ports.count, 0);
}

static void test_spaces_are_separate(void **state)
{
	struct pair *p = *state;

	listener(&p->a, RDMA_PS_TCP, true, 0);
	listener(&p->a, RDMA_PS_UDP, true, 0);
	listener(&p->a, RDMA_PS_IB, true, 0);
	listener(&p->a, RDMA_PS_IPOIB, true, 0);
	assert_int_equal(p->a.cm->ports.count, 4);
}

/* Several ids share the port, but only one of them may listen. */
static void test_listening_is_exclusive(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *first, *second, *third;

	assert_int_equal(try_bind(p, OWN4, ADV_CM_BIND_REUSE, &first), 0);
	assert_int_equal(try_bind(p, OWN4, ADV_CM_BIND_REUSE, &second), 0);
	assert_int_equal(adv_cm_listen(first, 1), EADDRINUSE);
	adv_cm_id_destroy(second, p->now);
	assert_int_equal(adv_cm_listen(first, 1), 0);
	assert_int_equal(adv_cm_listen(first, 1), EINVAL);
	assert_int_equal(try_bind(p, OWN4, ADV_CM_BIND_REUSE, &third), EADDRINUSE);
}

static void test_listen_unbound(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id = new_id(&p->a, RDMA_PS_TCP);

	assert_int_equal(adv_cm_listen(id, 5000), 0);
	assert_in_range(adv_cm_id_local(id)->port, 32768, 60999);
	assert_int_equal(adv_cm_id_local(id)->family, AF_INET);
	assert_true(adv_cm_addr_any(adv_cm_id_local(id)));
	assert_int_equal(id->backlog, 1024);
}

static void test_families(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id = new_id(&p->a, RDMA_PS_TCP);
	struct adv_cm_addr four = address(p, OWN4, 1), six = address(p, OWN6, 1), bad = four;

	bad.family = AF_UNIX;
	assert_int_equal(adv_cm_bind(id, &bad, 0), EAFNOSUPPORT);
	assert_int_equal(adv_cm_set_peer(id, &four, &six), EAFNOSUPPORT);
	assert_int_equal(adv_cm_set_peer(id, &bad, &bad), EAFNOSUPPORT);
	assert_int_equal(adv_cm_set_peer(id, &six, &six), 0);
	/* The peer may be set again, and to another address, before the id connects. */
	six.port = 2;
	assert_int_equal(adv_cm_set_peer(id, &six, &six), 0);
	assert_int_equal(adv_cm_id_local(id)->port, 1);
	assert_int_equal(adv_cm_id_remote(id)->port, 2);
}

static void test_peer_of_bound(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *id, *other = new_id(&p->a, RDMA_PS_TCP);
	struct adv_cm_addr own = address(p, OWN4, 0), remote = address(p, OTHER4, 99);

	assert_int_equal(try_bind(p, ANY4, 0, &id), 0);
	assert_int_equal(adv_cm_set_peer(id, &own, &remote), 0);
	assert_int_equal(adv_cm_id_local(id)->port, PORT);
	assert_memory_equal(adv_cm_id_local(id)->ip.raw, p->a.gid.raw, 16);
	assert_null(adv_cm_id_route(id));
	own.port = PORT;
	assert_int_equal(adv_cm_set_peer(other, &own, &remote), EADDRINUSE);
	assert_int_equal(adv_cm_id_remote(other)->family, 0);
	adv_cm_id_destroy(id, p->now);
	id = listener(&p->a, RDMA_PS_TCP, true, 0);
	assert_int_equal(adv_cm_set_peer(id, &own, &remote), EINVAL);
}

/* If all ephemeral ports are in use, a port is shared if all its owners have other peers. */
static void test_ephemeral(void **state)
{
	struct pair *p = *state;
	struct adv_cm_addr own = address(p, OWN4, 0), remote = address(p, OTHER4, 99);
	struct adv_cm_id *id, *bound;
	unsigned i;

	for (i = 0; i < 28232; i++) {
		id = new_id(&p->a, RDMA_PS_TCP);
		assert_int_equal(adv_cm_set_peer(id, &own, &remote), 0);
		assert_in_range(adv_cm_id_local(id)->port, 32768, 60999);
	}
	assert_int_equal(p->a.cm->ports.count, 28232);
	id = new_id(&p->a, RDMA_PS_TCP);
	assert_int_equal(adv_cm_listen(id, 0), EADDRINUSE);
	assert_int_equal(adv_cm_id_local(id)->family, 0);
	assert_int_equal(adv_cm_set_peer(id, &own, &remote), EADDRINUSE);
	remote.port = 100;
	assert_int_equal(adv_cm_set_peer(id, &own, &remote), 0);
	/* The id is bound before its peer is known, as by librdmacm. */
	id = new_id(&p->a, RDMA_PS_TCP);
	assert_int_equal(adv_cm_bind(id, &own, 0), 0);
	assert_int_equal(adv_cm_listen(id, 0), EADDRINUSE);
	assert_int_equal(adv_cm_set_peer(id, &own, &remote), 0);
	/* A port is not shared with an id whose peer is not known yet. */
	bound = adv_container_of(p->a.cm->ids.next, struct adv_cm_id, link);
	adv_cm_id_destroy(bound, p->now);
	bound = new_id(&p->a, RDMA_PS_TCP);
	assert_int_equal(adv_cm_bind(bound, &own, 0), 0);
	assert_int_equal(p->a.cm->ports.count, 28232);
}

/* The exact address precedes the wildcard; :: includes IPv4 unless it is IPv6 only. */
static void test_who_gets_it(void **state)
{
	struct pair *p = *state;
	struct adv_cm_ip_header to = {.ip_version = 4, .destination = p->a.gid};
	uint64_t service = adv_cm_service_id(RDMA_PS_TCP, PORT);
	struct adv_cm_addr any6 = address(p, ANY6, PORT), any4 = address(p, ANY4, PORT);
	struct adv_cm_id *six = new_id(&p->a, RDMA_PS_TCP), *four = new_id(&p->a, RDMA_PS_TCP),
			 *own;

	assert_null(adv_cm_listener_find(p->a.cm, service, &to));
	assert_int_equal(adv_cm_bind(six, &any6, 0), 0);
	assert_null(adv_cm_listener_find(p->a.cm, service, &to));
	assert_int_equal(adv_cm_listen(six, 0), 0);
	assert_ptr_equal(adv_cm_listener_find(p->a.cm, service, &to), six);
	adv_cm_id_destroy(six, p->now);
	six = new_id(&p->a, RDMA_PS_TCP);
	assert_int_equal(adv_cm_bind(six, &any6, ADV_CM_BIND_AFONLY), 0);
	assert_int_equal(adv_cm_listen(six, 0), 0);
	assert_null(adv_cm_listener_find(p->a.cm, service, &to));
	assert_int_equal(adv_cm_bind(four, &any4, 0), 0);
	assert_int_equal(adv_cm_listen(four, 0), 0);
	assert_ptr_equal(adv_cm_listener_find(p->a.cm, service, &to), four);
	to.ip_version = 6;
	assert_ptr_equal(adv_cm_listener_find(p->a.cm, service, &to), six);
	adv_cm_id_destroy(four, p->now);
	to.ip_version = 4;
	/* Two listeners at different addresses, of which one matches. */
	adv_cm_id_destroy(six, p->now);
	assert_int_equal(try_bind(p, OTHER4, 0, &four), 0);
	assert_int_equal(adv_cm_listen(four, 0), 0);
	assert_null(adv_cm_listener_find(p->a.cm, service, &to));
	assert_int_equal(try_bind(p, OWN4, 0, &own), 0);
	assert_int_equal(adv_cm_listen(own, 0), 0);
	assert_ptr_equal(adv_cm_listener_find(p->a.cm, service, &to), own);
	assert_null(adv_cm_listener_find(p->a.cm, service + 1, &to));
	assert_null(adv_cm_listener_find(p->a.cm, service | UINT64_C(1) << 40, &to));
}

/* The number of ids that share a port is limited. The listener is found among them. */
static void test_owners(void **state)
{
	struct pair *p = *state;
	struct adv_cm_ip_header to = {.ip_version = 4, .destination = p->a.gid};
	uint64_t service = adv_cm_service_id(RDMA_PS_TCP, PORT);
	struct adv_cm_addr elsewhere = address(p, OTHER4, PORT);
	struct adv_cm_id *listens = new_id(&p->a, RDMA_PS_TCP), *first, *id;

	assert_int_equal(try_bind(p, OWN4, ADV_CM_BIND_REUSE, &first), 0);
	for (unsigned i = 2; i < ADV_CM_OWNERS_MAX; i++)
		assert_int_equal(try_bind(p, OWN4, ADV_CM_BIND_REUSE, &id), 0);
	assert_int_equal(adv_cm_bind(listens, &elsewhere, 0), 0);
	assert_int_equal(try_bind(p, OWN4, ADV_CM_BIND_REUSE, &id), EADDRINUSE);
	assert_int_equal(adv_cm_listen(listens, 0), 0);
	assert_null(adv_cm_listener_find(p->a.cm, service, &to));
	to.destination = elsewhere.ip;
	assert_ptr_equal(adv_cm_listener_find(p->a.cm, service, &to), listens);
	adv_cm_id_destroy(first, p->now);
	assert_int_equal(try_bind(p, OWN4, ADV_CM_BIND_REUSE, &id), 0);
	assert_int_equal(try_bind(p, OWN4, ADV_CM_BIND_REUSE, &id), EADDRINUSE);
}

static void test_flags_of_bound(void **state)
{
	struct pair *p = *state;
	struct adv_cm_id *first, *second;

	assert_int_equal(try_bind(p, ANY6, 0, &first), 0);
	assert_int_equal(try_bind(p, ANY4, 0, &second), EADDRINUSE);
	adv_cm_set_bind_flags(second, ADV_CM_BIND_REUSE); /* binding sets them */
	adv_cm_set_bind_flags(first, ADV_CM_BIND_AFONLY);
	assert_int_equal(try_bind(p, ANY4, 0, &second), 0);
	assert_int_equal(try_bind(p, OWN4, ADV_CM_BIND_REUSE, &first), EADDRINUSE);
	adv_cm_set_bind_flags(second, ADV_CM_BIND_REUSE);
	assert_int_equal(try_bind(p, OWN4, ADV_CM_BIND_REUSE, &first), 0);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, pair_setup, pair_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_conflicts),
		TEST(test_spaces_are_separate),
		TEST(test_listening_is_exclusive),
		TEST(test_listen_unbound),
		TEST(test_families),
		TEST(test_flags_of_bound),
		TEST(test_owners),
		TEST(test_peer_of_bound),
		TEST(test_ephemeral),
		TEST(test_who_gets_it),
	};

	return cmocka_run_group_tests_name("cm port", tests, NULL, NULL);
}
