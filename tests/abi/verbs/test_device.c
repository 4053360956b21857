/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tests the device, its port, its tables, and the functions that need no device. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

static void list_names_one_device(void **state)
{
	int n = -1;
	struct ibv_device **list = ibv_get_device_list(&n);

	assert_non_null(list);
	assert_int_equal(n, 1);
	assert_null(list[1]);
	assert_string_equal(ibv_get_device_name(list[0]), "adverb0");
	assert_string_equal(list[0]->dev_name, "uverbs0");
	assert_string_equal(list[0]->ibdev_path, "/sys/class/infiniband/adverb0");
	assert_string_equal(list[0]->dev_path, "/sys/class/infiniband_verbs/uverbs0");
	assert_int_equal(list[0]->node_type, IBV_NODE_CA);
	assert_int_equal(list[0]->transport_type, IBV_TRANSPORT_IB);
	assert_true(ibv_get_device_guid(list[0]) != 0);
	assert_int_equal(ibv_get_device_index(list[0]), -1);
	/* The members that provider libraries read after the structure are NULL. */
	assert_null(*(void **)(list[0] + 1));
	ibv_free_device_list(list);

	list = ibv_get_device_list(NULL);
	assert_non_null(list);
	ibv_free_device_list(list);
}

static void context_outlives_the_list(void **state)
{
	struct ibv_context *ctx = open_device();

	assert_string_equal(ibv_get_device_name(ctx->device), "adverb0");
	assert_ptr_equal(ctx->abi_compat, __VERBS_ABI_IS_EXTENDED);
	assert_int_equal(verbs_get_ctx(ctx)->sz, sizeof(struct verbs_context));
	assert_true(ctx->num_comp_vectors > 1);
	assert_true(ctx->async_fd >= 0);
	assert_false(readable(ctx->async_fd, 0));
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void limits_can_be_had(void **state)
{
	struct ibv_context *ctx = open_device();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_device_attr attr;
	struct ibv_device_attr_ex ex;
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC};
	struct ibv_qp *qp;
	struct ibv_cq *cq;

	assert_int_equal(ibv_query_device(ctx, &attr), 0);
	assert_int_equal(ibv_query_device_ex(ctx, NULL, &ex), 0);
	assert_memory_equal(&attr, &ex.orig_attr, sizeof(attr));
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(attr.atomic_cap, IBV_ATOMIC_HCA);
	assert_true(attr.vendor_id < 1 << 24);
	assert_int_equal(ex.hca_core_clock, 1000000);
	assert_true(ex.completion_timestamp_mask == UINT64_MAX);

	cq = ibv_create_cq(ctx, attr.max_cqe, NULL, NULL, 0);
	assert_non_null(cq);
	assert_true(cq->cqe >= attr.max_cqe);
	init.send_cq = init.recv_cq = cq;
	init.cap.max_send_wr = init.cap.max_recv_wr = (uint32_t)attr.max_qp_wr;
	init.cap.max_send_sge = init.cap.max_recv_sge = (uint32_t)attr.max_sge;
	qp = ibv_create_qp(pd, &init);
	assert_non_null(qp);
	assert_true(init.cap.max_send_wr >= (uint32_t)attr.max_qp_wr);
	assert_int_equal(ibv_destroy_qp(qp), 0);

	init.cap.max_send_wr = (uint32_t)attr.max_qp_wr + 1;
	assert_null(ibv_create_qp(pd, &init));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_null(ibv_create_cq(ctx, attr.max_cqe + 1, NULL, NULL, 0));
	assert_null(ibv_create_cq(ctx, 0, NULL, NULL, 0));
	assert_null(ibv_create_cq(ctx, 1, NULL, NULL, ctx->num_comp_vectors));
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void port_is_an_active_ethernet(void **state)
{
	struct ibv_context *ctx = open_device();
	struct ibv_port_attr port, canary;

	memset(&port, 0x5a, sizeof(port));
	assert_int_equal(ibv_query_port(ctx, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_int_equal(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(port.phys_state, 5);
	assert_int_equal(port.max_mtu, IBV_MTU_4096);
	assert_in_range(port.active_mtu, IBV_MTU_256, IBV_MTU_4096);
	assert_int_equal(port.pkey_tbl_len, 1);
	assert_true(port.gid_tbl_len >= 1);
	assert_int_equal(port.port_cap_flags2, 0);
	assert_int_equal(ibv_query_port(ctx, 2, &port), EINVAL);

	/* The exported function knows only the first 48 bytes of the structure. */
	memset(&canary, 0x5a, sizeof(canary));
#undef ibv_query_port
	assert_int_equal(ibv_query_port(ctx, 1, (void *)&canary), 0);
	assert_int_equal(canary.state, IBV_PORT_ACTIVE);
	assert_int_equal(((uint8_t *)&canary)[48], 0x5a);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void every_gid_answers(void **state)
{
	struct ibv_context *ctx = open_device();
	struct ibv_gid_entry table[512], entry;
	union ibv_gid gid;
	ssize_t n = ibv_query_gid_table(ctx, table, 512, 0);
	__be16 pkey;

	assert_true(n >= 1);
	for (ssize_t i = 0; i < n; i++) {
		assert_int_equal(ibv_query_gid(ctx, 1, (int)i, &gid), 0);
		assert_int_equal(ibv_query_gid_ex(ctx, 1, (uint32_t)i, &entry, 0), 0);
		assert_memory_equal(&gid, &entry.gid, sizeof(gid));
		assert_memory_equal(&table[i], &entry, sizeof(entry));
		assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
		assert_int_equal(entry.gid_index, i);
		assert_true(entry.ndev_ifindex > 0);
	}
	assert_int_equal(ibv_query_gid_table(ctx, table, (size_t)n - 1, 0), -EINVAL);
	assert_int_equal(ibv_query_gid(ctx, 1, (int)n, &gid), -1);
	assert_int_equal(ibv_query_gid(ctx, 1, -1, &gid), -1);
	assert_int_equal(ibv_query_gid(ctx, 2, 0, &gid), -1);
	assert_int_equal(ibv_query_gid_ex(ctx, 1, 0, &entry, 1), EOPNOTSUPP);
	assert_int_equal(ibv_query_pkey(ctx, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	assert_int_equal(ibv_query_pkey(ctx, 1, 1, &pkey), -1);
	assert_int_equal(ibv_get_pkey_index(ctx, 1, 0xffff), 0);
	assert_int_equal(ibv_get_pkey_index(ctx, 1, 1), -1);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void unsupported_fails_cleanly(void **state)
{
	struct ibv_context *ctx = open_device();
	struct ibv_pd *pd = ibv_alloc_pd(ctx);
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};

#define ASSERT_NOT_SUPPORTED(call)                                                                 \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_null(call);                                                                 \
		assert_int_equal(errno, EOPNOTSUPP);                                               \
	} while (0)
	ASSERT_NOT_SUPPORTED(ibv_alloc_null_mr(pd));
	ASSERT_NOT_SUPPORTED(ibv_reg_dmabuf_mr(pd, 0, 4096, 0, 0, 0));
	ASSERT_NOT_SUPPORTED(ibv_import_device(0));
	ASSERT_NOT_SUPPORTED(ibv_import_pd(ctx, 1));
	ASSERT_NOT_SUPPORTED(ibv_import_mr(pd, 1));
	assert_int_equal(ibv_query_rt_values_ex(ctx, &values), 0);
	assert_true(values.raw_clock.tv_nsec > 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

static void helpers(void **state)
{
	assert_string_equal(ibv_wc_status_str(IBV_WC_RETRY_EXC_ERR),
			    "transport retry counter exceeded");
	assert_string_equal(ibv_wc_status_str((enum ibv_wc_status)1000), "unknown");
	assert_string_equal(ibv_event_type_str(IBV_EVENT_GID_CHANGE), "GID table change");
	assert_string_equal(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
	assert_string_equal(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
	assert_string_equal(ibv_node_type_str((enum ibv_node_type)(-1)), "unknown");
	for (int r = 0; r < 32; r++) {
		int mbps = ibv_rate_to_mbps((enum ibv_rate)r);
		int mult = ibv_rate_to_mult((enum ibv_rate)r);

		if (mbps > 0)
			assert_int_equal(mbps_to_ibv_rate(mbps), r);
		if (mult > 0)
			assert_int_equal(mult_to_ibv_rate(mult), r);
	}
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_100_GBPS), -1);
	assert_int_equal(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
	assert_int_equal(ibv_fork_init(), 0);
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

/* Runs in a child of fork(). Checks that calls do not crash, do not disturb the parent's device,
 * and that the child can open its own device. */
static int child_of(struct side *s)
{
	struct ibv_context *own;
	struct ibv_wc wc;

	if (post_recv(s, 1, 0, 64) == 0 || ibv_poll_cq(s->recv_cq, 1, &wc) >= 0)
		return 1;
	errno = 0;
	if (ibv_alloc_pd(s->ctx) || errno == 0)
		return 2;
	if (ibv_destroy_qp(s->qp) || ibv_dereg_mr(s->mr) || ibv_destroy_cq(s->send_cq) ||
	    ibv_destroy_cq(s->recv_cq) || ibv_destroy_comp_channel(s->channel) ||
	    ibv_dealloc_pd(s->pd) || ibv_close_device(s->ctx))
		return 3;
	own = open_device();
	return ibv_close_device(own) ? 4 : 0;
}

static void fork_leaves_the_parent_alone(void **state)
{
	struct pair p;
	int status = -1;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	skip(); /* the thread sanitizer supports no threads in a child of fork() */
#endif
	pair_open(&p, &(struct options){0});
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(child_of(&p.a));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(post_recv(&p.b, 7, 0, 64), 0);
	strcpy((char *)p.a.buf, "after the fork");
	assert_int_equal(post_send(&p.a, 8, 0, 64, IBV_SEND_SIGNALED), 0);
	expect_wc(p.a.send_cq, 8, IBV_WC_SUCCESS);
	expect_wc(p.b.recv_cq, 7, IBV_WC_SUCCESS);
	assert_string_equal((char *)p.b.buf, "after the fork");
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list_names_one_device),
		cmocka_unit_test(context_outlives_the_list),
		cmocka_unit_test(limits_can_be_had),
		cmocka_unit_test(port_is_an_active_ethernet),
		cmocka_unit_test(every_gid_answers),
		cmocka_unit_test(unsupported_fails_cleanly),
		cmocka_unit_test(helpers),
		cmocka_unit_test(fork_leaves_the_parent_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
