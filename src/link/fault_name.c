/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of the errors that rules about work requests inject, and of queues. */
#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "link/fault_plan.h"

struct name {
	const char *name;
	uint32_t value;
};

/* What drivers' posts are known to fail with. */
static const struct name errors[] = {
	{"ENOMEM", ENOMEM}, {"EINVAL", EINVAL},	  {"EAGAIN", EAGAIN},	      {"EBUSY", EBUSY},
	{"EFAULT", EFAULT}, {"EIO", EIO},	  {"ENODEV", ENODEV},	      {"ENOSPC", ENOSPC},
	{"EPERM", EPERM},   {"ENOBUFS", ENOBUFS}, {"EOPNOTSUPP", EOPNOTSUPP},
};

static const struct name statuses[] = {
	{"LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR},
	{"LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR},
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
	{"REM_ABORT_ERR", IBV_WC_REM_ABORT_ERR},
	{"FATAL_ERR", IBV_WC_FATAL_ERR},
	{"RESP_TIMEOUT_ERR", IBV_WC_RESP_TIMEOUT_ERR},
	{"GENERAL_ERR", IBV_WC_GENERAL_ERR},
};

static const struct name *table_of(enum adv_fault_action action, size_t *count)
{
	*count = action == ADV_FAULT_POST ? sizeof(errors) / sizeof(errors[0])
					  : sizeof(statuses) / sizeof(statuses[0]);
	return action == ADV_FAULT_POST ? errors : statuses;
}

static bool is_same(const char *s, size_t len, const char *name)
{
	return strlen(name) == len && strncasecmp(s, name, len) == 0;
}

uint32_t adv_fault_value(enum adv_fault_action action, const char *name, size_t len)
{
	static const char prefix[] = "IBV_WC_";
	const size_t n = sizeof(prefix) - 1;
	const struct name *table;
	size_t count;

	table = table_of(action, &count);
	if (action == ADV_FAULT_COMPLETE && len > n && is_same(name, n, prefix)) {
		name += n;
		len -= n;
	}
	for (size_t i = 0; i < count; i++)
		if (is_same(name, len, table[i].name))
			return table[i].value;
	return 0;
}

const char *adv_fault_value_name(enum adv_fault_action action, uint32_t value)
{
	const struct name *table;
	size_t count;

	table = table_of(action, &count);
	for (size_t i = 0; i < count; i++)
		if (table[i].value == value)
			return table[i].name;
	return NULL;
}

const char *adv_fault_queue_name(enum adv_fault_work_queue queue)
{
	static const char *const names[ADV_FAULT_QUEUES] = {"send", "recv", "srq"};

	return names[queue];
}
