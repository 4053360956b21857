/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The UDP port space: resolving a service's QP, and multicast groups. */
#include <unistd.h>

#include "../../common/netns.h"
#include "ends.h"

#define GROUP "239.7.7.7"

static void address_of_the_event(const struct rdma_ud_param *ud, const struct rdma_cm_id *id)
{
	assert_int_equal(ud->ah_attr.is_global, 1);
	assert_int_equal(ud->ah_attr.port_num, id->port_num);
	assert_true(ud->ah_attr.grh.hop_limit > 1);
}

static void a_lookup_tells_the_qp(void **state)
{
	struct rdma_conn_param param = {.private_data = "who", .private_data_len = 4};
	struct rdma_conn_param reply = {.private_data = "me", .private_data_len = 3};
	struct rdma_cm_event *event;
	struct ibv_wc wc;
	struct ibv_ah *ah;
	struct ibv_mr *mr[2];
	static char out[64] = "datagram", in[128];
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_UDP);
	make_qp(e.client, IBV_QPT_UD);
	assert_int_equal(e.client->qp->state, IBV_QPS_RTS);
	assert_int_equal(rdma_connect(e.client, &param), 0);
	event = next_event(e.passive, RDMA_CM_EVENT_CONNECT_REQUEST);
	e.server = event->id;
	assert_true(event->param.ud.private_data_len >= 4);
	assert_string_equal(event->param.ud.private_data, "who");
	rdma_ack_cm_event(event);
	make_qp(e.server, IBV_QPT_UD);
	mr[0] = rdma_reg_msgs(e.client, out, sizeof(out));
	mr[1] = rdma_reg_msgs(e.server, in, sizeof(in));
	assert_int_equal(rdma_post_recv(e.server, NULL, in, sizeof(in), mr[1]), 0);
	assert_int_equal(rdma_accept(e.server, &reply), 0);
	event = next_event(e.channel, RDMA_CM_EVENT_ESTABLISHED);
	assert_string_equal(event->param.ud.private_data, "me");
	assert_int_equal(event->param.ud.qp_num, e.server->qp->qp_num);
	assert_int_equal(event->param.ud.qkey, RDMA_UDP_QKEY);
	address_of_the_event(&event->param.ud, e.client);
	ah = ibv_create_ah(e.client->pd, &event->param.ud.ah_attr);
	assert_non_null(ah);
	assert_int_equal(rdma_post_ud_send(e.client, NULL, out, sizeof(out), mr[0], 0, ah,
					   event->param.ud.qp_num),
			 0);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_get_send_comp(e.client, &wc), 1);
	assert_int_equal(rdma_get_recv_comp(e.server, &wc), 1);
	assert_int_equal(wc.byte_len, 40 + sizeof(out));
	assert_string_equal(in + 40, "datagram");
	assert_int_equal(ibv_destroy_ah(ah), 0);
	rdma_dereg_mr(mr[0]);
	rdma_dereg_mr(mr[1]);
	ends_close(&e);
}

static void a_lookup_that_is_refused(void **state)
{
	struct ends e;

	ends_open(&e, "::1", RDMA_PS_UDP);
	make_qp(e.client, IBV_QPT_UD);
	assert_int_equal(rdma_connect(e.client, NULL), 0);
	ends_request(&e);
	assert_int_equal(rdma_reject(e.server, NULL, 0), 0);
	/* IB_SIDR_REJECT */
	assert_int_equal(expect_event(e.channel, RDMA_CM_EVENT_UNREACHABLE), 2);
	ends_close(&e);
}

static void nobody_listens(void **state)
{
	struct ends e;

	ends_open(&e, "127.0.0.1", RDMA_PS_UDP);
	assert_int_equal(rdma_destroy_id(e.listener), 0);
	e.listener = NULL;
	make_qp(e.client, IBV_QPT_UD);
	assert_int_equal(rdma_connect(e.client, NULL), 0);
	/* IB_SIDR_UNSUPPORTED: no such service */
	assert_int_equal(expect_event(e.channel, RDMA_CM_EVENT_UNREACHABLE), 1);
	ends_close(&e);
}

static struct rdma_cm_id *member(struct rdma_event_channel *channel, struct rdma_ud_param *ud,
				 const char *text, bool send_only)
{
	struct sockaddr *group = address(GROUP, 0);
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = send_only ? RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER
					: RDMA_MC_JOIN_FLAG_FULLMEMBER,
		.addr = group,
	};
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, RDMA_PS_UDP), 0);
	FAILS(EINVAL, rdma_join_multicast(id, group, id)); /* the id is bound to no device */
	assert_int_equal(rdma_bind_addr(id, address(text, 0)), 0);
	make_qp(id, IBV_QPT_UD);
	assert_int_equal(rdma_join_multicast_ex(id, &attr, id), 0);
	event = next_event(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(event->status, 0);
	assert_ptr_equal(event->id, id);
	assert_ptr_equal(event->param.ud.private_data, id);
	assert_int_equal(event->param.ud.qp_num, 0xffffff);
	address_of_the_event(&event->param.ud, id);
	*ud = event->param.ud;
	rdma_ack_cm_event(event);
	return id;
}

static void groups(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	static char out[16] = "to all", in[64];
	struct rdma_ud_param ud;
	struct rdma_cm_id *sender, *receiver;
	struct ibv_mr *mr[2];
	struct ibv_ah *ah;
	struct ibv_wc wc;

	receiver = member(channel, &ud, "10.77.1.1", false);
	sender = member(channel, &ud, "10.77.1.1", true);
	mr[0] = rdma_reg_msgs(sender, out, sizeof(out));
	mr[1] = rdma_reg_msgs(receiver, in, sizeof(in));
	ah = ibv_create_ah(sender->pd, &ud.ah_attr);
	assert_non_null(ah);
	assert_int_equal(rdma_post_recv(receiver, NULL, in, sizeof(in), mr[1]), 0);
	assert_int_equal(rdma_post_ud_send(sender, NULL, out, sizeof(out), mr[0], 0, ah, ud.qp_num),
			 0);
	assert_int_equal(rdma_get_recv_comp(receiver, &wc), 1);
	assert_string_equal(in + 40, "to all");
	assert_int_equal(rdma_get_send_comp(sender, &wc), 1);

	assert_int_equal(rdma_leave_multicast(receiver, address(GROUP, 0)), 0);
	FAILS(EADDRNOTAVAIL, rdma_leave_multicast(receiver, address(GROUP, 0)));
	assert_int_equal(rdma_post_recv(receiver, NULL, in, sizeof(in), mr[1]), 0);
	assert_int_equal(rdma_post_ud_send(sender, NULL, out, sizeof(out), mr[0], 0, ah, ud.qp_num),
			 0);
	assert_int_equal(rdma_get_send_comp(sender, &wc), 1);
	usleep(200000);
	assert_int_equal(ibv_poll_cq(receiver->recv_cq, 1, &wc), 0);

	rdma_dereg_mr(mr[1]);
	rdma_destroy_qp(receiver);
	assert_int_equal(rdma_destroy_id(receiver), 0);

	/* If the address is removed, the membership is lost. */
	run("ip address del 10.77.1.1/24 dev veth0");
	assert_int_not_equal(expect_event(channel, RDMA_CM_EVENT_MULTICAST_ERROR), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(expect_event(channel, RDMA_CM_EVENT_ADDR_CHANGE), 0);
	rdma_dereg_mr(mr[0]);
	rdma_destroy_qp(sender);
	assert_int_equal(rdma_destroy_id(sender), 0);
	rdma_destroy_event_channel(channel);
}

/* An id joins a group on its own interface, even if that is not the first one: here the loopback.
 */
static void groups_of_an_interface(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	static char out[16] = "to some", in[2][64];
	struct rdma_cm_id *id[2];
	struct rdma_ud_param ud[2];
	struct ibv_mr *mr[2], *from;
	struct ibv_ah *ah;
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++) {
		id[i] = member(channel, &ud[i], "127.0.0.1", false);
		mr[i] = rdma_reg_msgs(id[i], in[i], sizeof(in[i]));
		assert_int_equal(rdma_post_recv(id[i], NULL, in[i], sizeof(in[i]), mr[i]), 0);
	}
	from = rdma_reg_msgs(id[0], out, sizeof(out));
	ah = ibv_create_ah(id[0]->pd, &ud[0].ah_attr);
	assert_int_equal(
		rdma_post_ud_send(id[0], NULL, out, sizeof(out), from, 0, ah, ud[0].qp_num), 0);
	assert_int_equal(rdma_get_recv_comp(id[1], &wc), 1);
	assert_string_equal(in[1] + 40, "to some");
	assert_int_equal(ibv_destroy_ah(ah), 0);
	rdma_dereg_mr(from);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rdma_leave_multicast(id[i], address(GROUP, 0)), 0);
		rdma_destroy_qp(id[i]);
		rdma_dereg_mr(mr[i]);
		assert_int_equal(rdma_destroy_id(id[i]), 0);
	}
	rdma_destroy_event_channel(channel);
}

static int make_link(void **state)
{
	run("ip link add veth0 type veth peer name veth1 && ip link set veth0 up && "
	    "ip link set veth1 up && ip address add 10.77.1.1/24 dev veth0");
	assert_true(netns_wait_running("veth0"));
	wait_for_address("10.77.1.1");
	return 0;
}

static int remove_link(void **state)
{
	run("ip link del veth0");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lookup_tells_the_qp),
		cmocka_unit_test(a_lookup_that_is_refused),
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test_setup_teardown(groups, make_link, remove_link),
		cmocka_unit_test_setup_teardown(groups_of_an_interface, make_link, remove_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
