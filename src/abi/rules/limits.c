/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rules/limits.h"

#include <stdio.h>

#include "base/array.h"
#include "abi/check/fault.h"
#include "abi/rules/queries.h"

#define NAMES_LENGTH 160

enum limit { SGE, INLINE, RD_ATOMIC, LIMITS };

/* 0: no source gives the limit. */
static const struct {
	const char *name;
	bool connected; /* has RC */
	unsigned most[LIMITS];
} cards[] = {
	{"ConnectX-4 to 7", true, {[SGE] = 30, [RD_ATOMIC] = 16}},
	{"Intel E810", true, {[SGE] = 13, [INLINE] = 101}},
	{"Linux rdma_rxe", true, {[SGE] = 32, [INLINE] = 512, [RD_ATOMIC] = 128}},
	{"AWS EFA", false, {[SGE] = 2, [INLINE] = 32}},
};

/* Writes the cards that have less than `wanted`, with their limits. False: none has, or only one
 * that has no RC, on which few programs run anyway. */
static bool cards_lacking(const struct adv_check_qp *qp, enum limit limit, unsigned wanted,
			  char names[NAMES_LENGTH])
{
	bool is_common = false;
	size_t used = 0;

	if (limit != INLINE && adv_check_has_queried(ADV_CHECK_QUERY_DEVICE))
		return false;
	names[0] = '\0';
	for (size_t i = 0; i < ADV_ARRAY_SIZE(cards); i++) {
		unsigned most = cards[i].most[limit];

		if (!most || wanted <= most ||
		    (!cards[i].connected && qp->qp->qp_type != IBV_QPT_UD))
			continue;
		is_common |= cards[i].connected;
		used += (size_t)snprintf(names + used, NAMES_LENGTH - used, "%s%s %u",
					 used ? ", " : "", cards[i].name, most);
	}
	return is_common;
}

void adv_check_cap_limits(struct adv_check_call *call, const struct adv_check_qp *qp)
{
	const struct {
		enum adv_check_rule rule;
		enum limit limit;
		const char *name;
		unsigned wanted;
	} caps[] = {
		{ADV_RULE_SGE_LIMIT, SGE, "max_send_sge", qp->requested.max_send_sge},
		{ADV_RULE_SGE_LIMIT, SGE, "max_recv_sge", qp->requested.max_recv_sge},
		{ADV_RULE_INLINE_LIMIT, INLINE, "max_inline_data", qp->requested.max_inline_data},
	};
	char names[NAMES_LENGTH];

	for (size_t i = 0; i < ADV_ARRAY_SIZE(caps); i++)
		if (cards_lacking(qp, caps[i].limit, caps[i].wanted, names))
			adv_check_fault(call, caps[i].rule, &qp->base,
					"%s %u is more than some cards have: %s", caps[i].name,
					caps[i].wanted, names);
}

void adv_check_rd_atomic_limit(struct adv_check_call *call, const struct adv_check_qp *qp,
			       const struct ibv_qp_attr *attr, int mask)
{
	char names[NAMES_LENGTH];

	if (mask & IBV_QP_MAX_QP_RD_ATOMIC &&
	    cards_lacking(qp, RD_ATOMIC, attr->max_rd_atomic, names))
		adv_check_fault(call, ADV_RULE_RD_ATOMIC_LIMIT, &qp->base,
				"max_rd_atomic %u is more than some cards have: %s",
				attr->max_rd_atomic, names);
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC &&
	    cards_lacking(qp, RD_ATOMIC, attr->max_dest_rd_atomic, names))
		adv_check_fault(call, ADV_RULE_RD_ATOMIC_LIMIT, &qp->base,
				"max_dest_rd_atomic %u is more than some cards have: %s",
				attr->max_dest_rd_atomic, names);
}
