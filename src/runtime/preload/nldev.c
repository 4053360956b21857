/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Answers as drivers/infiniband/core/netlink.c and nldev.c of the Linux kernel do. */
#include "runtime/preload/nldev.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "runtime/identity/identity.h"
#include "runtime/identity/hw_counters.h"
#include "runtime/preload/nldev_request.h"
#include "runtime/preload/nldev_resources.h"
#include "runtime/preload/nldev_statistic.h"
#include "runtime/preload/uverbs_node.h"

#define UVERBS_ABI	1
#define NETNS_EXCLUSIVE 0 /* a device belongs to one network namespace */

/* ---- reading ---- */

static bool read_attributes(struct adv_nldev_request *r, const uint8_t *p, size_t len)
{
	struct nlattr a;

	while (len >= sizeof(a)) {
		unsigned type;
		size_t whole;

		memcpy(&a, p, sizeof(a));
		if (a.nla_len < NLA_HDRLEN || a.nla_len > len)
			return false;
		type = a.nla_type & NLA_TYPE_MASK;
		if (type < ADV_NLDEV_ATTRIBUTES) {
			r->attribute[type] = p + NLA_HDRLEN;
			r->length[type] = (uint16_t)(a.nla_len - NLA_HDRLEN);
		}
		whole = NLA_ALIGN(a.nla_len);
		if (whole >= len)
			break;
		p += whole;
		len -= whole;
	}
	return true;
}

static bool is_text(const struct adv_nldev_request *r, unsigned type, const char *text)
{
	size_t len = strlen(text);

	return r->attribute[type] && r->length[type] >= len && r->length[type] <= len + 1 &&
	       memcmp(r->attribute[type], text, len) == 0;
}

/* ---- writing ---- */

static void write_device(struct adv_nldev_request *r, bool one_of_many)
{
	struct adv_netlink *n = r->answer;

	adv_nldev_begin(r, one_of_many);
	adv_nldev_put_handle(r);
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_PORT_INDEX, ADV_NLDEV_PORT);
	adv_netlink_u64(n, RDMA_NLDEV_ATTR_CAP_FLAGS, ADV_DEVICE_CAP_FLAGS);
	adv_netlink_string(n, RDMA_NLDEV_ATTR_FW_VERSION, ADV_FW_VER);
	adv_netlink_u64(n, RDMA_NLDEV_ATTR_NODE_GUID, be64toh(r->gids.node_guid));
	adv_netlink_u64(n, RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, be64toh(r->gids.node_guid));
	adv_netlink_u8(n, RDMA_NLDEV_ATTR_DEV_NODE_TYPE, IBV_NODE_CA);
	adv_netlink_u8(n, RDMA_NLDEV_ATTR_DEV_DIM, 0);
	adv_netlink_string(n, RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
	adv_netlink_end(n);
}

static int get_device(struct adv_nldev_request *r)
{
	if (!adv_nldev_find_device(r))
		return EINVAL;
	write_device(r, false);
	return 0;
}

static int list_devices(struct adv_nldev_request *r)
{
	unsigned count = adv_nldev_read_devices(r) ? r->contents.rails->count : 0;

	for (unsigned i = 0; i < count; i++) {
		adv_nldev_use_device(r, i);
		write_device(r, true);
	}
	return 0;
}

/* Writes the attributes of the port. The netdev is the interface of the first GID, whose MTU
 * determines the MTU of the port. */
static void write_port(struct adv_nldev_request *r, bool one_of_many)
{
	const struct adv_gid_table *t = &r->gids;
	struct adv_netlink *n = r->answer;
	char name[sizeof(t->entry[0].ifname) + 1];

	adv_nldev_begin(r, one_of_many);
	adv_nldev_put_handle(r);
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_PORT_INDEX, ADV_NLDEV_PORT);
	adv_netlink_u8(n, RDMA_NLDEV_ATTR_PORT_STATE,
		       t->port_active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN);
	adv_netlink_u8(n, RDMA_NLDEV_ATTR_PORT_PHYS_STATE,
		       t->port_active ? ADV_PHYS_LINK_UP : ADV_PHYS_DISABLED);
	if (t->count) {
		snprintf(name, sizeof(name), "%.16s", t->entry[0].ifname);
		adv_netlink_u32(n, RDMA_NLDEV_ATTR_NDEV_INDEX, t->entry[0].ifindex);
		adv_netlink_string(n, RDMA_NLDEV_ATTR_NDEV_NAME, name);
	}
	adv_netlink_end(n);
}

static int get_port(struct adv_nldev_request *r)
{
	if (!adv_nldev_find_port(r))
		return EINVAL;
	write_port(r, false);
	return 0;
}

static int list_ports(struct adv_nldev_request *r)
{
	if (!adv_nldev_find_device(r))
		return EINVAL;
	write_port(r, true);
	return 0;
}

static int get_system(struct adv_nldev_request *r)
{
	adv_nldev_begin(r, false);
	adv_netlink_u8(r->answer, RDMA_NLDEV_SYS_ATTR_NETNS_MODE, NETNS_EXCLUSIVE);
	adv_netlink_u8(r->answer, RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
	adv_netlink_end(r->answer);
	return 0;
}

static int get_node(struct adv_nldev_request *r)
{
	struct adv_netlink *n = r->answer;
	char name[ADV_UVERBS_NAME_LEN];
	unsigned minor;

	if (!is_text(r, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs"))
		return r->attribute[RDMA_NLDEV_ATTR_CHARDEV_TYPE] ? ENODEV : EINVAL;
	if (!adv_nldev_find_device(r))
		return ENODEV;
	adv_uverbs_name(r->rail->index, name);
	minor = adv_uverbs_node_minor(name);
	adv_nldev_begin(r, false);
	adv_nldev_put_handle(r);
	adv_netlink_u64(n, RDMA_NLDEV_ATTR_CHARDEV, makedev(ADV_UVERBS_NODE_MAJOR, minor));
	adv_netlink_u64(n, RDMA_NLDEV_ATTR_CHARDEV_ABI, UVERBS_ABI);
	adv_netlink_string(n, RDMA_NLDEV_ATTR_CHARDEV_NAME, name);
	adv_netlink_end(n);
	return 0;
}

/* ---- counters ---- */

/* Writes the values of the counters if `values`, else their status: all counters are always on. */
static void write_counters(struct adv_nldev_request *r, bool values)
{
	struct adv_netlink *n = r->answer;
	size_t all, one;
	const char *name;
	uint64_t value;

	adv_nldev_begin(r, false);
	adv_nldev_put_handle(r);
	adv_netlink_u32(n, RDMA_NLDEV_ATTR_PORT_INDEX, ADV_NLDEV_PORT);
	all = adv_netlink_nest(n, RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
	for (unsigned i = 0;
	     (name = adv_hw_counter(&r->contents.counters[r->rail->index], i, &value)); i++) {
		one = adv_netlink_nest(n, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
		adv_netlink_string(n, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, name);
		if (values)
			adv_netlink_u64(n, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE, value);
		else
			adv_netlink_u32(n, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, i);
		adv_netlink_nest_end(n, one);
	}
	adv_netlink_nest_end(n, all);
	adv_netlink_end(n);
}

/* Each queue pair has counters without being bound to some, so the mode of binding is "none". */
static int get_statistic(struct adv_nldev_request *r)
{
	uint32_t of, mode;

	if (!adv_nldev_find_port(r))
		return EINVAL;
	if (!r->attribute[RDMA_NLDEV_ATTR_STAT_RES]) {
		if (!r->contents.counted)
			return EOPNOTSUPP;
		write_counters(r, true);
		return 0;
	}
	if (!adv_nldev_u32(r, RDMA_NLDEV_ATTR_STAT_RES, &of))
		return EINVAL;
	if (of != RDMA_NLDEV_ATTR_RES_QP)
		return EOPNOTSUPP;
	if (!adv_nldev_u32(r, RDMA_NLDEV_ATTR_STAT_MODE, &mode))
		return ENOENT;
	adv_nldev_begin(r, false);
	adv_nldev_put_handle(r);
	adv_netlink_u32(r->answer, RDMA_NLDEV_ATTR_PORT_INDEX, ADV_NLDEV_PORT);
	adv_netlink_u32(r->answer, RDMA_NLDEV_ATTR_STAT_MODE, RDMA_COUNTER_MODE_NONE);
	adv_netlink_end(r->answer);
	return 0;
}

static int get_statistic_status(struct adv_nldev_request *r)
{
	if (!adv_nldev_find_port(r))
		return EINVAL;
	if (!r->contents.counted)
		return EOPNOTSUPP;
	write_counters(r, false);
	return 0;
}

/* ---- requests ---- */

/* Each returns 0 or errno. After an error its output is discarded. */
static const struct command {
	int (*get)(struct adv_nldev_request *r);
	int (*list)(struct adv_nldev_request *r);
} commands[] = {
	[RDMA_NLDEV_CMD_GET] = {get_device, list_devices},
	[RDMA_NLDEV_CMD_PORT_GET] = {get_port, list_ports},
	[RDMA_NLDEV_CMD_SYS_GET] = {get_system, NULL},
	[RDMA_NLDEV_CMD_RES_GET] = {adv_nldev_get_summary, NULL},
	[RDMA_NLDEV_CMD_RES_QP_GET] = {adv_nldev_get_resource, adv_nldev_list_resources},
	[RDMA_NLDEV_CMD_RES_CM_ID_GET] = {adv_nldev_get_resource, adv_nldev_list_resources},
	[RDMA_NLDEV_CMD_RES_CQ_GET] = {adv_nldev_get_resource, adv_nldev_list_resources},
	[RDMA_NLDEV_CMD_RES_MR_GET] = {adv_nldev_get_resource, adv_nldev_list_resources},
	[RDMA_NLDEV_CMD_RES_PD_GET] = {adv_nldev_get_resource, adv_nldev_list_resources},
	[RDMA_NLDEV_CMD_RES_CTX_GET] = {adv_nldev_get_resource, adv_nldev_list_resources},
	[RDMA_NLDEV_CMD_RES_SRQ_GET] = {adv_nldev_get_resource, adv_nldev_list_resources},
	[RDMA_NLDEV_CMD_GET_CHARDEV] = {get_node, NULL},
	[RDMA_NLDEV_CMD_STAT_GET] = {get_statistic, adv_nldev_list_statistics},
	[RDMA_NLDEV_CMD_STAT_GET_STATUS] = {get_statistic_status, NULL},
};

static void write_status(struct adv_nldev_request *r, int error)
{
	const struct nlmsgerr status = {.error = -error, .msg = r->head};

	adv_netlink_begin(r->answer, NLMSG_ERROR, NLM_F_CAPPED, r->head.nlmsg_seq, r->port);
	adv_netlink_raw(r->answer, &status, sizeof(status));
	adv_netlink_end(r->answer);
}

static void write_done(struct adv_nldev_request *r)
{
	const int32_t error = 0;

	adv_netlink_begin(r->answer, NLMSG_DONE, NLM_F_MULTI, r->head.nlmsg_seq, r->port);
	adv_netlink_raw(r->answer, &error, sizeof(error));
	adv_netlink_end(r->answer);
}

static int run_command(struct adv_nldev_request *r, const uint8_t *payload, size_t len,
		       bool *listed)
{
	unsigned op = RDMA_NL_GET_OP(r->head.nlmsg_type);
	const struct command *c;

	if (RDMA_NL_GET_CLIENT(r->head.nlmsg_type) != RDMA_NL_NLDEV ||
	    op >= ADV_ARRAY_SIZE(commands))
		return EOPNOTSUPP;
	c = &commands[op];
	*listed = (r->head.nlmsg_flags & NLM_F_DUMP) && c->list;
	if (!*listed && !c->get)
		return EOPNOTSUPP;
	if (!read_attributes(r, payload, len))
		return EINVAL;
	return *listed ? c->list(r) : c->get(r);
}

static void answer_one(struct adv_nldev_request *r, const uint8_t *payload, size_t len)
{
	size_t before = r->answer->len;
	bool listed = false;
	int error;

	if (!(r->head.nlmsg_flags & NLM_F_REQUEST) || r->head.nlmsg_type < NLMSG_MIN_TYPE)
		error = 0; /* the request is only acknowledged, as by the kernel */
	else
		error = run_command(r, payload, len, &listed);
	if (error)
		r->answer->len = before;
	if (!error && listed)
		write_done(r);
	else if (error || (r->head.nlmsg_flags & NLM_F_ACK))
		write_status(r, error);
}

void adv_nldev_answer(const struct adv_nldev_source *source, const void *request, size_t len,
		      uint32_t port, struct adv_netlink *answer)
{
	struct adv_nldev_request *r = calloc(1, sizeof(*r));
	const uint8_t *p = request;

	if (!r)
		answer->failed = true;
	while (r && len >= NLMSG_HDRLEN) {
		size_t whole;

		memset(r, 0, sizeof(*r));
		r->source = source;
		r->answer = answer;
		r->port = port;
		memcpy(&r->head, p, sizeof(r->head));
		if (r->head.nlmsg_len < NLMSG_HDRLEN || r->head.nlmsg_len > len)
			break;
		answer_one(r, p + NLMSG_HDRLEN, r->head.nlmsg_len - NLMSG_HDRLEN);
		whole = NLMSG_ALIGN((size_t)r->head.nlmsg_len);
		if (whole >= len)
			break;
		p += whole;
		len -= whole;
	}
	free(r);
}
