/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rules of `adverb check`: what each finds, and the fixed texts of its report. The section of a
 * rule in docs/check.md has the rule's name. */
#ifndef ADV_ABI_CHECK_RULES_H
#define ADV_ABI_CHECK_RULES_H

/* In the order of the table in rules.c and of the sections in docs/check.md. */
enum adv_check_rule {
	ADV_RULE_SGE_OUTSIDE_REGION,
	ADV_RULE_LOCAL_WRITE_MISSING,
	ADV_RULE_SEND_BUFFER_CHANGED,
	ADV_RULE_RECEIVE_BUFFER_CHANGED,
	ADV_RULE_RECEIVE_BUFFER_REUSED,
	ADV_RULE_UNMAPPED_WHILE_REGISTERED,
	ADV_RULE_STALE_LKEY,
	ADV_RULE_STALE_RKEY,
	ADV_RULE_DEREG_WHILE_POSTED,
	ADV_RULE_INLINE_TOO_LONG,
	ADV_RULE_MEMLOCK_LIMIT,
	ADV_RULE_OVERLAPPING_WRITES,
	ADV_RULE_ATOMIC_AND_WRITE,
	ADV_RULE_UNSIGNALED_QUEUE_FULL,
	ADV_RULE_CQ_TOO_SMALL,
	ADV_RULE_RECEIVE_QUEUE_EMPTY,
	ADV_RULE_RECEIVE_TOO_SMALL,
	ADV_RULE_NEVER_POLLED,
	ADV_RULE_ERROR_IGNORED,
	ADV_RULE_LOST_WAKEUP,
	ADV_RULE_EVENT_NOT_ACKNOWLEDGED,
	ADV_RULE_ASYNC_NEVER_READ,
	ADV_RULE_TRANSITION_INVALID,
	ADV_RULE_MASK_MISSING,
	ADV_RULE_MASK_SUPERFLUOUS,
	ADV_RULE_PORT_NUMBER,
	ADV_RULE_PKEY_INDEX,
	ADV_RULE_GID_INDEX_INVALID,
	ADV_RULE_GID_INDEX_CONSTANT,
	ADV_RULE_GRH_MISSING,
	ADV_RULE_QKEY_HIGH_BIT,
	ADV_RULE_QKEY_MISMATCH,
	ADV_RULE_GRH_FORGOTTEN,
	ADV_RULE_TIMEOUT_ZERO,
	ADV_RULE_RETRY_COUNT_ZERO,
	ADV_RULE_RNR_RETRY_FINITE,
	ADV_RULE_RNR_TIMER_ZERO,
	ADV_RULE_PSN_CONSTANT,
	ADV_RULE_PSN_MISMATCH,
	ADV_RULE_RD_ATOMIC_MISMATCH,
	ADV_RULE_MTU_MISMATCH,
	ADV_RULE_PEER_MISMATCH,
	ADV_RULE_POST_IN_WRONG_STATE,
	ADV_RULE_THREADS_UNORDERED,
	ADV_RULE_DESTROY_ORDER,
	ADV_RULE_LEAK,
	ADV_RULE_FORK_WITHOUT_INIT,
	ADV_RULE_FORK_CHILD_USES_DEVICE,
	ADV_RULE_READ_WITHOUT_FENCE,
	ADV_RULE_FAILED_DATA_USED,
	ADV_RULE_ERROR_WC_FIELDS,
	ADV_RULE_SGE_LIMIT,
	ADV_RULE_INLINE_LIMIT,
	ADV_RULE_RD_ATOMIC_LIMIT,
	ADV_RULE_UD_OVER_ETHERNET_MTU,
	ADV_RULE_CM_EVENT_NOT_ACKNOWLEDGED,
	ADV_RULE_PRIVATE_DATA_TOO_LONG,
	ADV_RULE_PRIVATE_DATA_LENGTH,
	ADV_RULE_REJECT_IGNORED,
	ADV_RULE_ACCEPT_WITHOUT_RECEIVES,
	ADV_RULES,
};

struct adv_check_rule_text {
	const char *name;
	const char *title;    /* what the program does wrong, one line */
	const char *why;      /* why it is wrong */
	const char *source;   /* where the standard or a manual says so */
	const char *hardware; /* what a hardware NIC does */
	const char *remedy;   /* what to change */
};

/* How sure it is that the program is wrong. */
enum adv_check_severity {
	ADV_CHECK_ERROR,   /* it breaks the specification */
	ADV_CHECK_WARNING, /* it breaks sooner or later, or on other hardware */
	ADV_CHECK_LEAK,	   /* it fails only if it is repeated: no failure of the check by default */
	ADV_CHECK_ADVICE,  /* it may be meant so: shown on request only */
};

/* Returns the severity of a rule, and its name ("error"). */
enum adv_check_severity adv_check_severity_of(enum adv_check_rule rule);
const char *adv_check_severity_name(enum adv_check_rule rule);

/* By enum adv_check_rule. */
extern const struct adv_check_rule_text adv_check_rules[ADV_RULES];

#endif
