/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "errno_calls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#define NO_FILE	     "no such file"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct pair p, ud;
struct ibv_qp_ex *ex;
static struct ibv_xrcd *xrcd;
static struct ibv_mr *bound; /* region to which a window is bound */
static struct ibv_mw *window;
static struct ibv_qp *ex_qp;
static struct ibv_cq_ex *cq_ex;
static union ibv_gid group = {.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 1, 1}};

/* ---- failing calls: their result, also a pointer, as a long ---- */

static long query_gid_ex(void)
{
	struct ibv_gid_entry entry;

	return ibv_query_gid_ex(p.a.ctx, 1, 9999, &entry, 0);
}

static long query_gid_table(void)
{
	struct ibv_gid_entry entry;

	return ibv_query_gid_table(p.a.ctx, &entry, 0, 0);
}

static long alloc_pd(void)
{
	return (long)ibv_alloc_pd(p.a.ctx);
}

static long attach_mcast(void)
{
	return ibv_attach_mcast(ud.a.qp, &ud.a.gid, 0);
}

static long create_ah(void)
{
	struct ibv_ah_attr attr = av_to(&p.a, &p.b);

	attr.port_num = 2;
	return (long)ibv_create_ah(p.a.pd, &attr);
}

static long create_ah_from_wc(void)
{
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH};
	struct ibv_grh grh = {0};

	return (long)ibv_create_ah_from_wc(p.a.pd, &wc, &grh, 1);
}

static long init_ah_from_wc(void)
{
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH};
	struct ibv_ah_attr attr;
	struct ibv_grh grh = {0};

	return ibv_init_ah_from_wc(p.a.ctx, 1, &wc, &grh, &attr);
}

static long create_comp_channel(void)
{
	return (long)ibv_create_comp_channel(p.a.ctx);
}

static long create_cq(void)
{
	return (long)ibv_create_cq(p.a.ctx, 0, NULL, NULL, 0);
}

static long create_cq_ex(void)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 1, .wc_flags = 1ull << 60};

	return (long)ibv_create_cq_ex(p.a.ctx, &attr);
}

static long create_qp(void)
{
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC};

	return (long)ibv_create_qp(p.a.pd, &attr);
}

static long create_qp_ex(void)
{
	struct ibv_qp_init_attr_ex attr = {.qp_type = IBV_QPT_RC, .comp_mask = 1u << 31};

	return (long)ibv_create_qp_ex(p.a.ctx, &attr);
}

static long create_srq(void)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_sge = 1}};

	return (long)ibv_create_srq(p.a.pd, &attr);
}

static long create_srq_ex(void)
{
	struct ibv_srq_init_attr_ex attr = {.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
					    .srq_type = IBV_SRQT_XRC};

	return (long)ibv_create_srq_ex(p.a.ctx, &attr);
}

static long dealloc_pd(void)
{
	return ibv_dealloc_pd(p.a.pd);
}

static long dereg_mr(void)
{
	return ibv_dereg_mr(bound);
}

static long destroy_comp_channel(void)
{
	return ibv_destroy_comp_channel(p.a.channel);
}

static long destroy_cq(void)
{
	return ibv_destroy_cq(p.a.send_cq);
}

static long destroy_qp(void)
{
	return ibv_destroy_qp(ud.b.qp);
}

static long destroy_srq(void)
{
	return ibv_destroy_srq(p.b.srq);
}

static long detach_mcast(void)
{
	return ibv_detach_mcast(ud.a.qp, &group, 0);
}

static long get_async_event(void)
{
	struct ibv_async_event event;

	return ibv_get_async_event(p.a.ctx, &event);
}

static long get_cq_event(void)
{
	struct ibv_cq *cq;
	void *context;

	return ibv_get_cq_event(p.a.channel, &cq, &context);
}

static long get_pkey_index(void)
{
	return ibv_get_pkey_index(p.a.ctx, 1, htobe16(0x1234));
}

static long import_device(void)
{
	return (long)ibv_import_device(0);
}

static long import_dm(void)
{
	return (long)ibv_import_dm(p.a.ctx, 0);
}

static long import_mr(void)
{
	return (long)ibv_import_mr(p.a.pd, 0);
}

static long import_pd(void)
{
	return (long)ibv_import_pd(p.a.ctx, 0);
}

static long modify_qp(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};

	return ibv_modify_qp(ud.a.qp, &attr, IBV_QP_STATE);
}

static long modify_srq(void)
{
	struct ibv_srq_attr attr = {.srq_limit = UINT32_MAX};

	return ibv_modify_srq(p.b.srq, &attr, IBV_SRQ_LIMIT);
}

static long open_device_without_files(void)
{
	return (long)ibv_open_device(p.a.ctx->device);
}

static long query_ece(void)
{
	struct ibv_ece ece;

	return ibv_query_ece(p.a.qp, &ece);
}

static long set_ece(void)
{
	struct ibv_ece ece = {0};

	return ibv_set_ece(p.a.qp, &ece);
}

static long query_gid(void)
{
	union ibv_gid gid;

	return ibv_query_gid(p.a.ctx, 1, -1, &gid);
}

static long query_pkey(void)
{
	__be16 pkey;

	return ibv_query_pkey(p.a.ctx, 1, 1, &pkey);
}

#undef ibv_query_port
static long query_port_exported(void)
{
	uint64_t room[16];

	return ibv_query_port(p.a.ctx, 2, (struct _compat_ibv_port_attr *)(void *)room);
}

static long query_port_operation(void)
{
	struct ibv_port_attr attr;

	return ___ibv_query_port(p.a.ctx, 2, &attr);
}

static long query_device_ex(void)
{
	struct ibv_query_device_ex_input input = {.comp_mask = 1};
	struct ibv_device_attr_ex attr;

	return verbs_get_ctx(p.a.ctx)->query_device_ex(p.a.ctx, &input, &attr, sizeof(attr));
}

static long query_rt_values(void)
{
	struct ibv_values_ex values = {.comp_mask = 1u << 31};

	return ibv_query_rt_values_ex(p.a.ctx, &values);
}

static long query_qp(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return ibv_query_qp(p.a.qp, &attr, IBV_QP_STATE, &init);
}

static long query_srq(void)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(p.b.srq, &attr);
}

static long read_sysfs_file(void)
{
	int (*call)(const char *dir, const char *file, char *buf, size_t size) = NULL;
	char text[8];

	*(void **)&call = dlsym(RTLD_DEFAULT, "ibv_read_sysfs_file");
	return call("/", NO_FILE, text, sizeof(text));
}

static long reg_dmabuf_mr(void)
{
	return (long)ibv_reg_dmabuf_mr(p.a.pd, 0, 1, 0, -1, 0);
}

#undef ibv_reg_mr
static long reg_mr(void)
{
	return (long)ibv_reg_mr(p.a.pd, NULL, 4096, 0);
}

#undef ibv_reg_mr_iova
static long reg_mr_iova(void)
{
	return (long)ibv_reg_mr_iova(p.a.pd, p.a.buf, 4096, 0, IBV_ACCESS_REMOTE_WRITE);
}

static long reg_mr_iova2(void)
{
	return (long)ibv_reg_mr_iova2(p.a.pd, p.a.buf, 0, 0, 0);
}

static long rereg_mr(void)
{
	return ibv_rereg_mr(p.a.mr, 1 << 30, NULL, NULL, 0, 0);
}

static long resize_cq(void)
{
	return ibv_resize_cq(p.a.send_cq, -1);
}

static long modify_cq(void)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = 1u << 31};

	return ibv_modify_cq(p.a.send_cq, &attr);
}

static long resolve_eth(void)
{
	struct ibv_ah_attr attr = {0};
	uint8_t mac[6];
	uint16_t vid;

	return ibv_resolve_eth_l2_from_gid(p.a.ctx, &attr, mac, &vid);
}

static long get_srq_num(void)
{
	uint32_t number;

	return ibv_get_srq_num(p.b.srq, &number);
}

static long open_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = {0};

	return (long)ibv_open_xrcd(p.a.ctx, &attr);
}

static long close_xrcd(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};
	struct ibv_qp *qp = ibv_create_qp_ex(p.a.ctx, &attr);
	long ret;

	assert_non_null(qp);
	errno = SENTINEL;
	ret = ibv_close_xrcd(xrcd);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	return ret;
}

static long open_qp(void)
{
	struct ibv_qp_open_attr attr = {0};

	return (long)ibv_open_qp(p.a.ctx, &attr);
}

static long alloc_mw(void)
{
	return (long)ibv_alloc_mw(p.a.pd, IBV_MW_TYPE_1);
}

static long bind_mw(void)
{
	struct ibv_mw_bind bind = {.bind_info = {.mr = bound, .length = 1}};

	return ibv_bind_mw(ex_qp, window, &bind); /* fails: the QP is in RESET */
}

static long poll_cq(void)
{
	struct ibv_wc wc;

	return ibv_poll_cq(p.a.send_cq, 1, &wc);
}

static long req_notify_cq(void)
{
	return ibv_req_notify_cq(p.a.send_cq, 0);
}

static long post_send_early(void)
{
	return post_send(&ud.a, 1, 0, 8, 0);
}

static long post_recv_beside_an_srq(void)
{
	struct ibv_recv_wr wr = {0}, *bad;

	return ibv_post_recv(p.b.qp, &wr, &bad);
}

static long post_srq_recv(void)
{
	struct ibv_recv_wr wr = {.num_sge = 1000}, *bad;

	return ibv_post_srq_recv(p.b.srq, &wr, &bad);
}

static long wr_complete(void)
{
	ibv_wr_start(ex);
	ibv_wr_set_sge(ex, 0, 0, 0);
	return ibv_wr_complete(ex);
}

static long start_poll(void)
{
	struct ibv_poll_cq_attr attr = {.comp_mask = 1};

	return ibv_start_poll(cq_ex, &attr);
}

static long alloc_td(void)
{
	struct ibv_td_init_attr attr = {.comp_mask = 1};

	return (long)ibv_alloc_td(p.a.ctx, &attr);
}

static long alloc_parent_domain(void)
{
	struct ibv_parent_domain_init_attr attr = {0};

	return (long)ibv_alloc_parent_domain(p.a.ctx, &attr);
}

static long alloc_dm(void)
{
	struct ibv_alloc_dm_attr attr = {0};

	return (long)ibv_alloc_dm(p.a.ctx, &attr);
}

static long advise_mr(void)
{
	return ibv_advise_mr(p.a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 1u << 31, NULL, 0);
}

/* ---- what does not exist here: headers without the operation leave errno unchanged ---- */

static long create_flow(void)
{
	struct ibv_flow_attr attr = {0};

	return (long)ibv_create_flow(ud.a.qp, &attr);
}

static long create_flow_action_esp(void)
{
	struct ibv_flow_action_esp_attr attr = {0};

	return (long)ibv_create_flow_action_esp(p.a.ctx, &attr);
}

static long create_counters(void)
{
	struct ibv_counters_init_attr attr = {0};

	return (long)ibv_create_counters(p.a.ctx, &attr);
}

static long alloc_null_mr(void)
{
	return (long)ibv_alloc_null_mr(p.a.pd);
}

static long create_wq(void)
{
	struct ibv_wq_init_attr attr = {.wq_type = IBV_WQT_RQ};

	return (long)ibv_create_wq(p.a.ctx, &attr);
}

static long create_rwq_ind_table(void)
{
	struct ibv_rwq_ind_table_init_attr attr = {0};

	return (long)ibv_create_rwq_ind_table(p.a.ctx, &attr);
}

static long modify_qp_rate_limit(void)
{
	struct ibv_qp_rate_limit_attr attr = {.rate_limit = 1000};

	return ibv_modify_qp_rate_limit(p.a.qp, &attr);
}

static long post_srq_ops(void)
{
	struct ibv_ops_wr wr = {.opcode = IBV_WR_TAG_SYNC}, *bad;

	return ibv_post_srq_ops(p.b.srq, &wr, &bad);
}

const struct failing failing_calls[] = {
	{"_ibv_query_gid_ex", query_gid_ex, EINVAL, ERROR, HERE},
	{"_ibv_query_gid_table", query_gid_table, EINVAL, NEGATIVE, HERE},
	{"ibv_alloc_pd", alloc_pd, EIO, OBJECT, IN_A_CHILD},
	{"ibv_attach_mcast", attach_mcast, EINVAL, ERROR, HERE},
	{"ibv_create_ah", create_ah, EINVAL, OBJECT, HERE},
	{"ibv_create_ah_from_wc", create_ah_from_wc, EPROTONOSUPPORT, OBJECT, HERE},
	{"ibv_init_ah_from_wc", init_ah_from_wc, EPROTONOSUPPORT, MINUS_ONE, HERE},
	{"ibv_create_comp_channel", create_comp_channel, EMFILE, OBJECT, WITHOUT_FILES},
	{"ibv_create_cq", create_cq, EINVAL, OBJECT, HERE},
	{"ibv_create_cq_ex", create_cq_ex, EOPNOTSUPP, OBJECT, HERE},
	{"ibv_create_qp", create_qp, EINVAL, OBJECT, HERE},
	{"ibv_create_qp_ex", create_qp_ex, EOPNOTSUPP, OBJECT, HERE},
	{"ibv_create_srq", create_srq, EINVAL, OBJECT, HERE},
	{"ibv_create_srq_ex", create_srq_ex, EINVAL, OBJECT, HERE},
	{"ibv_dealloc_pd", dealloc_pd, EBUSY, ERROR, HERE},
	{"ibv_dereg_mr", dereg_mr, EBUSY, ERROR, HERE},
	{"ibv_destroy_comp_channel", destroy_comp_channel, EBUSY, ERROR, HERE},
	{"ibv_destroy_cq", destroy_cq, EBUSY, ERROR, HERE},
	{"ibv_destroy_qp", destroy_qp, EBUSY, ERROR, HERE},
	{"ibv_destroy_srq", destroy_srq, EBUSY, ERROR, HERE},
	{"ibv_detach_mcast", detach_mcast, EINVAL, ERROR, HERE},
	{"ibv_get_async_event", get_async_event, EAGAIN, MINUS_ONE, HERE},
	{"ibv_get_cq_event", get_cq_event, EAGAIN, MINUS_ONE, HERE},
	{"ibv_get_pkey_index", get_pkey_index, EINVAL, MINUS_ONE, HERE},
	{"ibv_import_device", import_device, EOPNOTSUPP, OBJECT, HERE},
	{"ibv_import_dm", import_dm, EOPNOTSUPP, OBJECT, HERE},
	{"ibv_import_mr", import_mr, EOPNOTSUPP, OBJECT, HERE},
	{"ibv_import_pd", import_pd, EOPNOTSUPP, OBJECT, HERE},
	{"ibv_modify_qp", modify_qp, EINVAL, ERROR, HERE},
	{"ibv_modify_srq", modify_srq, EINVAL, ERROR, HERE},
	{"ibv_open_device", open_device_without_files, EMFILE, OBJECT, WITHOUT_FILES},
	{"ibv_query_ece", query_ece, EOPNOTSUPP, ERROR, HERE},
	{"ibv_set_ece", set_ece, EOPNOTSUPP, ERROR, HERE},
	{"ibv_query_gid", query_gid, EINVAL, MINUS_ONE, HERE},
	{"ibv_query_pkey", query_pkey, EINVAL, MINUS_ONE, HERE},
	{"ibv_query_port", query_port_exported, EINVAL, ERROR, HERE},
	{"query_port", query_port_operation, EINVAL, ERROR, HERE},
	{"query_device_ex", query_device_ex, EINVAL, ERROR, HERE},
	{"query_rt_values", query_rt_values, EINVAL, ERROR, HERE},
	{"ibv_query_qp", query_qp, EIO, ERROR, IN_A_CHILD},
	{"ibv_query_srq", query_srq, EIO, ERROR, IN_A_CHILD},
	{"ibv_read_sysfs_file", read_sysfs_file, ENOENT, MINUS_ONE, HERE},
	{"ibv_reg_dmabuf_mr", reg_dmabuf_mr, EOPNOTSUPP, OBJECT, HERE},
	{"ibv_reg_mr", reg_mr, EFAULT, OBJECT, HERE},
	{"ibv_reg_mr_iova", reg_mr_iova, EINVAL, OBJECT, HERE},
	{"ibv_reg_mr_iova2", reg_mr_iova2, EINVAL, OBJECT, HERE},
	{"ibv_rereg_mr", rereg_mr, EINVAL, MINUS_ONE, HERE},
	{"ibv_resize_cq", resize_cq, EINVAL, ERROR, HERE},
	{"modify_cq", modify_cq, EINVAL, ERROR, HERE},
	{"ibv_resolve_eth_l2_from_gid", resolve_eth, EOPNOTSUPP, NEGATIVE, HERE},
	{"get_srq_num", get_srq_num, EOPNOTSUPP, ERROR, HERE},
	{"open_xrcd", open_xrcd, EINVAL, OBJECT, HERE},
	{"close_xrcd", close_xrcd, EBUSY, ERROR, HERE},
	{"open_qp", open_qp, EINVAL, OBJECT, HERE},
	{"alloc_mw", alloc_mw, EIO, OBJECT, IN_A_CHILD},
	{"bind_mw", bind_mw, EINVAL, ERROR, HERE},
	{"poll_cq", poll_cq, EIO, MINUS_ONE, IN_A_CHILD},
	{"req_notify_cq", req_notify_cq, EIO, ERROR, IN_A_CHILD},
	{"post_send", post_send_early, EINVAL, ERROR, HERE},
	{"post_recv", post_recv_beside_an_srq, EINVAL, ERROR, HERE},
	{"post_srq_recv", post_srq_recv, EINVAL, ERROR, HERE},
	{"wr_complete", wr_complete, EINVAL, ERROR, HERE},
	{"start_poll", start_poll, EINVAL, ERROR, HERE},
	{"alloc_td", alloc_td, EOPNOTSUPP, OBJECT, HERE},
	{"alloc_parent_domain", alloc_parent_domain, EINVAL, OBJECT, HERE},
	{"alloc_dm", alloc_dm, EINVAL, OBJECT, HERE},
	{"advise_mr", advise_mr, EINVAL, ERROR, HERE},
	{"create_flow", create_flow, EOPNOTSUPP, OBJECT, HERE},
	{"create_flow_action_esp", create_flow_action_esp, EOPNOTSUPP, OBJECT, HERE},
	{"create_counters", create_counters, EOPNOTSUPP, OBJECT, HERE},
	{"alloc_null_mr", alloc_null_mr, EOPNOTSUPP, OBJECT, HERE},
	{"create_wq", create_wq, EOPNOTSUPP, OBJECT, HERE},
	{"create_rwq_ind_table", create_rwq_ind_table, EOPNOTSUPP, OBJECT, HERE},
	{"modify_qp_rate_limit", modify_qp_rate_limit, EOPNOTSUPP, ERROR, HERE},
	{"post_srq_ops", post_srq_ops, EOPNOTSUPP, ERROR, HERE},
};

const unsigned failing_count = COUNT(failing_calls);

const char *const unfailing_calls[] = {
	"ibv_ack_async_event",
	"ibv_ack_cq_events",
	"ibv_close_device",
	"ibv_copy_ah_attr_from_kern",
	"ibv_copy_path_rec_from_kern",
	"ibv_copy_path_rec_to_kern",
	"ibv_copy_qp_attr_from_kern",
	"ibv_destroy_ah",
	"ibv_dofork_range",
	"ibv_dontfork_range",
	"ibv_event_type_str",
	"ibv_fork_init",
	"ibv_free_device_list",
	"ibv_get_device_guid",
	"ibv_get_device_index",
	"ibv_get_device_list",
	"ibv_get_device_name",
	"ibv_get_sysfs_path",
	"ibv_is_fork_initialized",
	"ibv_node_type_str",
	"ibv_port_state_str",
	"ibv_qp_to_qp_ex",
	"ibv_query_device",
	"ibv_query_qp_data_in_order",
	"ibv_rate_to_mbps",
	"ibv_rate_to_mult",
	"ibv_unimport_dm",
	"ibv_unimport_mr",
	"ibv_unimport_pd",
	"ibv_wc_status_str",
	"mbps_to_ibv_rate",
	"mult_to_ibv_rate",
};

const unsigned unfailing_count = COUNT(unfailing_calls);

/* ---- the objects that the calls use ---- */

static int nonblocking(int fd)
{
	return fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void bind_a_window(void)
{
	struct ibv_mw_bind bind = {.bind_info = {.addr = (uintptr_t)p.a.buf,
						 .length = 64,
						 .mw_access_flags = IBV_ACCESS_REMOTE_READ}};

	bound = ibv_reg_mr(p.a.pd, p.a.buf, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	assert_non_null(bound);
	window = ibv_alloc_mw(p.a.pd, IBV_MW_TYPE_1);
	assert_non_null(window);
	bind.bind_info.mr = bound;
	bind.send_flags = IBV_SEND_SIGNALED;
	assert_int_equal(ibv_bind_mw(p.a.qp, window, &bind), 0);
	expect_wc(p.a.send_cq, 0, IBV_WC_SUCCESS);
}

int open_errno_objects(void **state)
{
	struct ibv_xrcd_init_attr domain = {.comp_mask = IBV_XRCD_INIT_ATTR_FD |
							 IBV_XRCD_INIT_ATTR_OFLAGS,
					    .fd = -1,
					    .oflags = O_CREAT};
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_RC,
					   .comp_mask = IBV_QP_INIT_ATTR_PD |
							IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .send_ops_flags = IBV_QP_EX_WITH_SEND,
					   .cap = {4, 4, 1, 1, 0}};
	struct ibv_cq_init_attr_ex cq = {.cqe = 1, .wc_flags = IBV_WC_STANDARD_FLAGS};

	pair_open(&p, &(struct options){.srq = true});
	pair_open(&ud, &(struct options){.type = IBV_QPT_UD, .unconnected = true});
	assert_int_equal(nonblocking(p.a.ctx->async_fd), 0);
	assert_int_equal(nonblocking(p.a.channel->fd), 0);
	bind_a_window();
	xrcd = ibv_open_xrcd(p.a.ctx, &domain);
	assert_non_null(xrcd);
	init.pd = p.a.pd;
	init.send_cq = init.recv_cq = p.a.send_cq;
	ex_qp = ibv_create_qp_ex(p.a.ctx, &init);
	assert_non_null(ex_qp);
	ex = ibv_qp_to_qp_ex(ex_qp);
	cq_ex = ibv_create_cq_ex(p.a.ctx, &cq);
	assert_non_null(cq_ex);
	assert_int_equal(ibv_attach_mcast(ud.b.qp, &group, 0), 0);
	return 0;
}

int close_errno_objects(void **state)
{
	assert_int_equal(ibv_detach_mcast(ud.b.qp, &group, 0), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex)), 0);
	assert_int_equal(ibv_destroy_qp(ex_qp), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_int_equal(ibv_dealloc_mw(window), 0);
	assert_int_equal(ibv_dereg_mr(bound), 0);
	pair_close(&ud);
	pair_close(&p);
	return 0;
}
