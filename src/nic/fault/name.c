/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/fault/name.h"

#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "base/array.h"
#include "base/async.h"

struct named_value {
	const char *name;
	uint32_t value;
};

/* The errors that the post calls of real drivers return. */
static const struct named_value errors[] = {
	{"ENOMEM", ENOMEM}, {"EINVAL", EINVAL},	  {"EAGAIN", EAGAIN},	      {"EBUSY", EBUSY},
	{"EFAULT", EFAULT}, {"EIO", EIO},	  {"ENODEV", ENODEV},	      {"ENOSPC", ENOSPC},
	{"EPERM", EPERM},   {"ENOBUFS", ENOBUFS}, {"EOPNOTSUPP", EOPNOTSUPP},
};

static const struct named_value statuses[] = {
	{"LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR},
	{"LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR},
	{"LOC_EEC_OP_ERR", IBV_WC_LOC_EEC_OP_ERR},
	{"LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR},
	{"WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR},
	{"MW_BIND_ERR", IBV_WC_MW_BIND_ERR},
	{"BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR},
	{"LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR},
	{"REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR},
	{"REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR},
	{"REM_OP_ERR", IBV_WC_REM_OP_ERR},
	{"RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR},
	{"RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR},
	{"LOC_RDD_VIOL_ERR", IBV_WC_LOC_RDD_VIOL_ERR},
	{"REM_INV_RD_REQ_ERR", IBV_WC_REM_INV_RD_REQ_ERR},
	{"REM_ABORT_ERR", IBV_WC_REM_ABORT_ERR},
	{"INV_EECN_ERR", IBV_WC_INV_EECN_ERR},
	{"INV_EEC_STATE_ERR", IBV_WC_INV_EEC_STATE_ERR},
	{"FATAL_ERR", IBV_WC_FATAL_ERR},
	{"RESP_TIMEOUT_ERR", IBV_WC_RESP_TIMEOUT_ERR},
	{"GENERAL_ERR", IBV_WC_GENERAL_ERR},
	{"TM_ERR", IBV_WC_TM_ERR},
	{"TM_RNDV_INCOMPLETE", IBV_WC_TM_RNDV_INCOMPLETE},
};

static const struct named_value events[] = {
	{"CQ_ERR", IBV_EVENT_CQ_ERR},
	{"QP_FATAL", IBV_EVENT_QP_FATAL},
	{"QP_REQ_ERR", IBV_EVENT_QP_REQ_ERR},
	{"QP_ACCESS_ERR", IBV_EVENT_QP_ACCESS_ERR},
	{"COMM_EST", IBV_EVENT_COMM_EST},
	{"SQ_DRAINED", IBV_EVENT_SQ_DRAINED},
	{"PATH_MIG", IBV_EVENT_PATH_MIG},
	{"PATH_MIG_ERR", IBV_EVENT_PATH_MIG_ERR},
	{"DEVICE_FATAL", IBV_EVENT_DEVICE_FATAL},
	{"PORT_ACTIVE", IBV_EVENT_PORT_ACTIVE},
	{"PORT_ERR", IBV_EVENT_PORT_ERR},
	{"LID_CHANGE", IBV_EVENT_LID_CHANGE},
	{"PKEY_CHANGE", IBV_EVENT_PKEY_CHANGE},
	{"SM_CHANGE", IBV_EVENT_SM_CHANGE},
	{"SRQ_ERR", IBV_EVENT_SRQ_ERR},
	{"SRQ_LIMIT_REACHED", IBV_EVENT_SRQ_LIMIT_REACHED},
	{"QP_LAST_WQE_REACHED", IBV_EVENT_QP_LAST_WQE_REACHED},
	{"CLIENT_REREGISTER", IBV_EVENT_CLIENT_REREGISTER},
	{"GID_CHANGE", IBV_EVENT_GID_CHANGE},
	{"WQ_FATAL", IBV_EVENT_WQ_FATAL},
};

/* Indexed by action. The prefix is optional in a plan. */
static const struct table {
	const struct named_value *names;
	size_t count;
	const char *prefix;
} tables[ADV_FAULT_ACTIONS] = {
	[ADV_FAULT_POST] = {errors, ADV_ARRAY_SIZE(errors), ""},
	[ADV_FAULT_COMPLETE] = {statuses, ADV_ARRAY_SIZE(statuses), "IBV_WC_"},
	[ADV_FAULT_EVENT] = {events, ADV_ARRAY_SIZE(events), "IBV_EVENT_"},
};

static const char *const action_names[ADV_FAULT_ACTIONS] = {
	"drop", "duplicate", "reorder", "corrupt", "delay",	"mark",		"down",
	"post", "complete",  "rnr",	"tear",	   "port-down", "device-fatal", "event"};

const char *adv_fault_action_name(enum adv_fault_action action)
{
	return action_names[action];
}

bool adv_fault_has_value(enum adv_fault_action action)
{
	return tables[action].count != 0;
}

static bool equals_ignoring_case(const char *s, size_t len, const char *name)
{
	return strlen(name) == len && strncasecmp(s, name, len) == 0;
}

bool adv_fault_value_read(enum adv_fault_action action, const char *name, size_t len,
			  uint32_t *value)
{
	const struct table *t = &tables[action];
	const size_t n = strlen(t->prefix);

	if (len > n && equals_ignoring_case(name, n, t->prefix)) {
		name += n;
		len -= n;
	}
	for (size_t i = 0; i < t->count; i++) {
		if (!equals_ignoring_case(name, len, t->names[i].name))
			continue;
		*value = t->names[i].value;
		return true;
	}
	return false;
}

const char *adv_fault_value_name(enum adv_fault_action action, uint32_t value)
{
	const struct table *t = &tables[action];

	for (size_t i = 0; i < t->count; i++)
		if (t->names[i].value == value)
			return t->names[i].name;
	return NULL;
}

bool adv_fault_event_has_object(uint32_t event)
{
	enum adv_async_object object = adv_async_object_of((enum ibv_event_type)event);

	return object == ADV_ASYNC_QP || object == ADV_ASYNC_CQ || object == ADV_ASYNC_SRQ;
}

const char *adv_fault_queue_name(enum adv_fault_work_queue queue)
{
	static const char *const names[ADV_FAULT_QUEUES] = {"send", "recv", "srq"};

	return names[queue];
}
