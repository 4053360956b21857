/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Calls reject invalid arguments and return the daemon's errors. */
#include <netdb.h>
#include <stdio.h>

#include <rdma/rdma_verbs.h>

#include "base/array.h"
#include "fake.h"
#include "log_file.h"
#include "abi/rdmacm/newer.h"

static struct rdma_event_channel *channel;
static struct rdma_cm_id *id;
static _Atomic int next_result;

static void answer(struct adv_ucma_message *m)
{
	if (m->type != ADV_UCMA_CMD_CREATE_ID && m->type != ADV_UCMA_CMD_DESTROY_ID &&
	    m->type != ADV_UCMA_CMD_DESTROY_CHANNEL)
		m->result = next_result;
}

static int setup(void **state)
{
	next_result = 0;
	fake_start(answer);
	channel = rdma_create_event_channel();
	assert_non_null(channel);
	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	return 0;
}

static int teardown(void **state)
{
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
	fake_die();
	return 0;
}

/* Asserts that the log names the function of this call, and the error. A line that is the same as
 * the previous one is logged once. */
static void assert_logged(const char *call, int err)
{
	static char text[16384];
	const char *newer = log_file_read();
	char name[64];

	if (*newer)
		snprintf(text, sizeof(text), "%s", newer);
	snprintf(name, sizeof(name), "%.*s", (int)(strchr(call, '(') - call), call);
	if (!strstr(text, name) || !strstr(text, strerrorname_np(err)))
		fail_msg("%s: the log has no reason: %s", call, text);
}

/* Asserts that the call fails with this errno, and that the log says why. */
#define FAILS(err, call)                                                                           \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_int_equal(call, -1);                                                        \
		assert_int_equal(errno, err);                                                      \
		assert_logged(#call, err);                                                         \
	} while (0)

static void null_is_refused(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr *addr = (struct sockaddr *)&in;
	struct ibv_qp_attr attr = {0};
	struct rdma_addrinfo *info;
	struct rdma_cm_event *event;
	struct rdma_cm_id *made;
	struct ibv_ece ece = {.vendor_id = 1};
	int mask;

	FAILS(EINVAL, rdma_create_id(channel, NULL, NULL, RDMA_PS_TCP));
	FAILS(EINVAL, rdma_create_id(channel, &made, NULL, 0x7777));
	FAILS(EINVAL, rdma_destroy_id(NULL));
	FAILS(EINVAL, rdma_bind_addr(NULL, addr));
	FAILS(EINVAL, rdma_bind_addr(id, NULL));
	FAILS(EINVAL, rdma_resolve_addr(id, NULL, NULL, 100));
	FAILS(EINVAL, rdma_resolve_addr(NULL, NULL, addr, 100));
	FAILS(EINVAL, rdma_resolve_route(NULL, 100));
	FAILS(EINVAL, rdma_listen(NULL, 1));
	FAILS(EINVAL, rdma_connect(NULL, NULL));
	FAILS(EINVAL, rdma_accept(NULL, NULL));
	FAILS(EINVAL, rdma_reject(NULL, NULL, 0));
	FAILS(EINVAL, rdma_reject_ece(NULL, NULL, 0));
	FAILS(EINVAL, rdma_establish(NULL));
	FAILS(EINVAL, rdma_notify(NULL, IBV_EVENT_COMM_EST));
	FAILS(EINVAL, rdma_notify(id, IBV_EVENT_PATH_MIG));
	FAILS(EINVAL, rdma_disconnect(NULL));
	FAILS(EINVAL, rdma_migrate_id(NULL, channel));
	FAILS(EINVAL, rdma_get_cm_event(NULL, &event));
	FAILS(EINVAL, rdma_get_cm_event(channel, NULL));
	FAILS(EINVAL, rdma_ack_cm_event(NULL));
	FAILS(EINVAL, rdma_get_request(NULL, &made));
	FAILS(EINVAL, rdma_get_request(id, &made)); /* the id is not synchronous */
	FAILS(EINVAL, rdma_create_ep(NULL, NULL, NULL, NULL));
	FAILS(EINVAL, rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, NULL, 1));
	FAILS(EINVAL, rdma_init_qp_attr(id, NULL, &mask));
	FAILS(EINVAL, rdma_init_qp_attr(NULL, &attr, &mask));
	FAILS(EINVAL, rdma_join_multicast(id, NULL, NULL));
	FAILS(EINVAL, rdma_join_multicast_ex(id, NULL, NULL));
	FAILS(EINVAL, rdma_leave_multicast(id, NULL));
	FAILS(EINVAL, rdma_set_local_ece(NULL, &ece));
	FAILS(EINVAL, rdma_set_local_ece(id, NULL));
	FAILS(EINVAL, rdma_get_remote_ece(id, NULL));
	FAILS(EINVAL, rdma_resolve_addrinfo(NULL, "x", NULL, NULL));
	FAILS(EINVAL, rdma_query_addrinfo(id, NULL));
	FAILS(EINVAL, rdma_getaddrinfo(NULL, NULL, NULL, &info));
	FAILS(EINVAL, rdma_getaddrinfo("127.0.0.1", NULL, NULL, NULL));
	FAILS(EINVAL, rdma_write_cm_event(NULL, ADV_EVENT_USER, 0, 0));
	FAILS(EINVAL, rdma_write_cm_event(id, RDMA_CM_EVENT_ESTABLISHED, 0, 0));
	rdma_destroy_event_channel(NULL);
	rdma_destroy_ep(NULL);
	rdma_destroy_qp(NULL);
	rdma_destroy_srq(NULL);
	rdma_free_devices(NULL);
	rdma_freeaddrinfo(NULL);
}

/* An id that is not bound has no device: only binding, listening and options work. */
static void unbound_ids_have_no_device(void **state)
{
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC};
	struct ibv_qp_init_attr_ex qp_ex = {.qp_type = IBV_QPT_RC};
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 1, .max_sge = 1}};
	struct ibv_srq_init_attr_ex srq_ex = {.comp_mask = IBV_SRQ_INIT_ATTR_TYPE};
	struct rdma_conn_param param = {.qp_num = 1};

	FAILS(EINVAL, rdma_create_qp(id, NULL, &attr));
	FAILS(EINVAL, rdma_create_qp(id, NULL, NULL));
	FAILS(EINVAL, rdma_create_qp_ex(id, &qp_ex));
	FAILS(EINVAL, rdma_create_qp_ex(NULL, &qp_ex));
	FAILS(EINVAL, rdma_create_srq(id, NULL, &srq));
	FAILS(EINVAL, rdma_create_srq_ex(id, &srq_ex));
	FAILS(EINVAL, rdma_create_srq_ex(id, NULL));
	FAILS(EINVAL, rdma_connect(id, &param));
	FAILS(EINVAL, rdma_accept(id, &param));
	FAILS(EINVAL, rdma_disconnect(id));
	assert_null(id->verbs);
	assert_int_equal(fake_count(ADV_UCMA_CMD_CONNECT), 0);
}

static void the_daemons_errors_are_errno(void **state)
{
	static const int errors[] = {EADDRINUSE, EADDRNOTAVAIL, EINVAL, ENODEV, ENOMEM};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	struct sockaddr *addr = (struct sockaddr *)&in6;
	uint8_t tos = 4;

	for (unsigned i = 0; i < ADV_ARRAY_SIZE(errors); i++) {
		next_result = errors[i];
		FAILS(errors[i], rdma_bind_addr(id, addr));
		FAILS(errors[i], rdma_resolve_addr(id, addr, addr, 1));
		FAILS(errors[i], rdma_resolve_route(id, 1));
		FAILS(errors[i], rdma_listen(id, 1));
		FAILS(errors[i], rdma_reject(id, "x", 1));
		FAILS(errors[i], rdma_establish(id));
		FAILS(errors[i], rdma_notify(id, IBV_EVENT_COMM_EST));
		FAILS(errors[i], rdma_join_multicast(id, addr, NULL));
		FAILS(errors[i],
		      rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
	}
}

static void addresses_of_other_families(void **state)
{
	struct sockaddr_storage other = {.ss_family = AF_UNIX};
	struct sockaddr_in in = {.sin_family = AF_INET};

	FAILS(EINVAL, rdma_bind_addr(id, (struct sockaddr *)&other));
	FAILS(EINVAL, rdma_resolve_addr(id, NULL, (struct sockaddr *)&other, 1));
	FAILS(EINVAL, rdma_resolve_addr(id, (struct sockaddr *)&other, (struct sockaddr *)&in, 1));
	FAILS(EINVAL, rdma_join_multicast(id, (struct sockaddr *)&other, NULL));
	FAILS(EINVAL, rdma_leave_multicast(id, (struct sockaddr *)&other));
}

static void what_is_sent(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(7)};
	struct adv_ucma_message m;
	int on = 1;

	assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&in), 0);
	m = fake_last(ADV_UCMA_CMD_BIND);
	assert_memory_equal(&m.body.addr.local, &in, sizeof(in));
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&in, 250), 0);
	m = fake_last(ADV_UCMA_CMD_RESOLVE_ADDR);
	assert_int_equal(m.body.addr.local.family, 0);
	assert_memory_equal(&m.body.addr.remote, &in, sizeof(in));
	assert_int_equal(m.body.addr.timeout_ms, 250);
	assert_int_equal(rdma_get_dst_port(id), htons(7));
	assert_int_equal(rdma_listen(id, 12), 0);
	assert_int_equal(fake_last(ADV_UCMA_CMD_LISTEN).value, 12);
	assert_int_equal(
		rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)), 0);
	m = fake_last(ADV_UCMA_CMD_SET_OPTION);
	assert_int_equal(m.body.option.name, RDMA_OPTION_ID_REUSEADDR);
	assert_int_equal(m.body.option.len, sizeof(on));
	assert_memory_equal(m.body.option.data, &on, sizeof(on));
	assert_int_equal(rdma_reject(id, "bye", 3), 0);
	m = fake_last(ADV_UCMA_CMD_REJECT);
	assert_int_equal(m.body.conn.reason, 28);
	assert_memory_equal(m.body.conn.private_data, "bye", 3);
	assert_int_equal(m.body.conn.private_data_len, 3);
	assert_int_equal(rdma_reject_ece(id, NULL, 0), 0);
	assert_int_equal(fake_last(ADV_UCMA_CMD_REJECT).body.conn.reason, 35);
}

static void options_that_are_not(void **state)
{
	uint8_t data[128] = {0};

	FAILS(EINVAL, rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, data, 0));
	FAILS(EINVAL, rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, data, sizeof(data)));
	FAILS(EOPNOTSUPP, rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, data, 72));
}

static void groups(void **state)
{
	struct sockaddr_in group = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xe0000102)};
	struct sockaddr_in other = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xe0000103)};
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS,
		.addr = (struct sockaddr *)&group,
	};
	struct rdma_cm_event *event;
	struct adv_ucma_message m;

	FAILS(EINVAL, rdma_join_multicast_ex(id, &attr, &group));
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_RESERVED;
	FAILS(ENOTSUP, rdma_join_multicast_ex(id, &attr, &group));
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	FAILS(EINVAL, rdma_join_multicast_ex(id, &attr, &group));
	attr.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	assert_int_equal(rdma_join_multicast_ex(id, &attr, &group), 0);
	m = fake_last(ADV_UCMA_CMD_JOIN);
	assert_int_equal(m.body.join.join_flags, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER);
	m = fake_event(fake_last_id(), RDMA_CM_EVENT_MULTICAST_ERROR, -ENOMEM);
	fake_push(0, &m);
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(event->event, RDMA_CM_EVENT_MULTICAST_ERROR);
	assert_ptr_equal(event->param.ud.private_data, &group);
	rdma_ack_cm_event(event);
	FAILS(EADDRNOTAVAIL, rdma_leave_multicast(id, (struct sockaddr *)&other));
	assert_int_equal(rdma_leave_multicast(id, (struct sockaddr *)&group), 0);
	assert_int_equal(fake_count(ADV_UCMA_CMD_LEAVE), 1);
	FAILS(EADDRNOTAVAIL, rdma_leave_multicast(id, (struct sockaddr *)&group));
}

static void names_by_event(void **state)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_NUMERICHOST}, *info;
	struct rdma_cm_event *event;
	struct adv_ucma_message m;

	FAILS(ENOENT, rdma_query_addrinfo(id, &info));
	assert_int_equal(rdma_resolve_addrinfo(id, "127.0.0.1", "80", &hints), 0);
	m = fake_last(ADV_UCMA_CMD_WRITE_EVENT);
	assert_int_equal(m.body.event.type, ADV_EVENT_ADDRINFO_RESOLVED);
	FAILS(EBUSY, rdma_resolve_addrinfo(id, "127.0.0.1", "80", &hints));
	fake_push(0, &m);
	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_string_equal(rdma_event_str(event->event), "RDMA_CM_EVENT_ADDRINFO_RESOLVED");
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_query_addrinfo(id, &info), 0);
	assert_int_equal(((struct sockaddr_in *)(void *)info->ai_dst_addr)->sin_port, htons(80));
	rdma_freeaddrinfo(info);
	FAILS(ENOENT, rdma_query_addrinfo(id, &info));
	assert_int_equal(rdma_resolve_addrinfo(id, "no number", "80", &hints), 0);
	m = fake_last(ADV_UCMA_CMD_WRITE_EVENT);
	assert_int_equal(m.body.event.type, ADV_EVENT_ADDRINFO_ERROR);
	assert_int_equal(m.body.event.status, -ENOENT);
	hints.ai_flags = ADV_RAI_SA;
	FAILS(EOPNOTSUPP, rdma_resolve_addrinfo(id, NULL, "80", &hints));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(null_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(unbound_ids_have_no_device, setup, teardown),
		cmocka_unit_test_setup_teardown(the_daemons_errors_are_errno, setup, teardown),
		cmocka_unit_test_setup_teardown(addresses_of_other_families, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_sent, setup, teardown),
		cmocka_unit_test_setup_teardown(options_that_are_not, setup, teardown),
		cmocka_unit_test_setup_teardown(groups, setup, teardown),
		cmocka_unit_test_setup_teardown(names_by_event, setup, teardown),
	};

	int failed;

	log_file_open();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	log_file_remove();
	return failed;
}
