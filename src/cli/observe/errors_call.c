/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the errnos of calls mean. */
#include "cli/observe/errors.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"

#define NO_OBJECTS "the limit of the device is reached (max_qp, max_cq, ...: ibv_query_device)"
#define NOT_HERE   "the device does not have this"
#define IN_USE	   "objects that use it exist: destroy them first"

static const struct adv_call_error errors[] = {
	{"ibv_open_device", EMFILE, "the process has no descriptor left (ulimit -n)"},
	{"ibv_query_device_ex", EINVAL,
	 "comp_mask of the input is not 0; the header returns this itself, and leaves errno as it "
	 "was"},
	{"ibv_alloc_pd", ENOMEM, NO_OBJECTS},
	{"ibv_dealloc_pd", EBUSY, IN_USE " (regions, windows, queue pairs, SRQs, AHs)"},
	{"ibv_reg_mr", EINVAL,
	 "length 0, unknown access bits, an address range that wraps, or REMOTE_WRITE or "
	 "REMOTE_ATOMIC without LOCAL_WRITE"},
	{"ibv_reg_mr", EFAULT, "the memory is not mapped, or read-only for LOCAL_WRITE"},
	{"ibv_reg_mr", ENOMEM, NO_OBJECTS},
	{"ibv_dereg_mr", EBUSY, "a memory window is bound to it: unbind or free the window first"},
	{"ibv_reg_dmabuf_mr", EOPNOTSUPP, "memory of a DMA-BUF has no address in this process"},
	{"ibv_alloc_null_mr", EOPNOTSUPP, NOT_HERE ": register memory that nobody reads"},
	{"ibv_create_comp_channel", EMFILE, "the process has no descriptor left (ulimit -n)"},
	{"ibv_create_cq", EINVAL,
	 "cqe or comp_vector is out of range, or the channel is of another context"},
	{"ibv_create_cq", ENOMEM, NO_OBJECTS},
	{"ibv_destroy_cq", EBUSY, IN_USE " (queue pairs, SRQs)"},
	{"ibv_resize_cq", EINVAL, "cqe is out of range, or less than the completions in the queue"},
	{"ibv_create_qp", EINVAL,
	 "a CQ, PD or SRQ is missing or of another context, or a member of cap is above the limits "
	 "of ibv_query_device"},
	{"ibv_create_qp", ENOMEM, NO_OBJECTS},
	{"ibv_create_qp", EOPNOTSUPP,
	 "qp_type is not RC, UC, UD, XRC_SEND or XRC_RECV, or create_flags has more than "
	 "BLOCK_SELF_MCAST_LB"},
	{"ibv_create_wq", EOPNOTSUPP, NOT_HERE ": use ibv_create_qp"},
	{"ibv_create_flow", EOPNOTSUPP, NOT_HERE},
	{"ibv_create_counters", EOPNOTSUPP, NOT_HERE},
	{"ibv_modify_qp_rate_limit", EOPNOTSUPP, NOT_HERE ": adverb run --cc limits rates"},
	{"ibv_post_srq_ops", EOPNOTSUPP, NOT_HERE " (tag matching)"},
	{"ibv_modify_qp", EINVAL,
	 "the transition does not exist, attr_mask lacks or has too much, or an attribute is out "
	 "of range; path_mtu must not exceed active_mtu"},
	{"ibv_destroy_qp", EBUSY, "it is in a multicast group: ibv_detach_mcast() first"},
	{"ibv_create_srq", EINVAL, "max_wr or max_sge is above the limits of ibv_query_device"},
	{"ibv_create_srq", ENOMEM, NO_OBJECTS},
	{"ibv_destroy_srq", EBUSY, IN_USE " (queue pairs)"},
	{"ibv_create_ah", EINVAL,
	 "the GRH is missing (is_global), or sgid_index is not in the GID table"},
	{"ibv_post_send", EINVAL,
	 "the queue pair is not in RTS, SQD or ERR, or the request has an opcode, a flag or a "
	 "number of SGEs that it does not allow"},
	{"ibv_post_send", ENOMEM,
	 "the send queue is full: poll completions; requests without IBV_SEND_SIGNALED are freed "
	 "by a later signaled one"},
	{"ibv_post_recv", EINVAL,
	 "the queue pair is in RESET or has an SRQ, or the request has too many SGEs"},
	{"ibv_post_recv", ENOMEM, "the receive queue is full: poll completions"},
	{"ibv_query_gid", EINVAL, "the index is not in the GID table: adverb gids"},
	{"ibv_get_cq_event", EAGAIN, "no event is queued, and the channel does not block"},
	{"rdma_bind_addr", EADDRINUSE, "another id has the port: adverb res cm_id"},
	{"rdma_bind_addr", EADDRNOTAVAIL, "no interface of this machine has the address"},
	{"rdma_connect", EINVAL, "the route is not resolved, or a parameter is out of range"},
	{"rdma_accept", EINVAL, "the id is no request that waits for an answer"},
	{"rdma_accept", ECONNABORTED, "the peer has given up meanwhile"},
};

const struct adv_call_error *adv_call_error(uint32_t i)
{
	return i < ADV_ARRAY_SIZE(errors) ? &errors[i] : NULL;
}

int adv_errno_of(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} names[] = {{"EAGAIN", EAGAIN},
		     {"EADDRINUSE", EADDRINUSE},
		     {"EADDRNOTAVAIL", EADDRNOTAVAIL},
		     {"EBUSY", EBUSY},
		     {"ECONNABORTED", ECONNABORTED},
		     {"EFAULT", EFAULT},
		     {"EINVAL", EINVAL},
		     {"EIO", EIO},
		     {"EMFILE", EMFILE},
		     {"ENOMEM", ENOMEM},
		     {"EOPNOTSUPP", EOPNOTSUPP}};

	for (size_t i = 0; i < ADV_ARRAY_SIZE(names); i++)
		if (strcasecmp(names[i].name, name) == 0)
			return names[i].number;
	return 0;
}
