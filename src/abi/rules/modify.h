/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules on ibv_modify_qp(): attribute masks, transitions and values. */
#ifndef ADV_ABI_RULES_MODIFY_H
#define ADV_ABI_RULES_MODIFY_H

#include "abi/check/call.h"
#include "abi/check/object.h"

/* A call of ibv_modify_qp(). */
struct adv_check_change {
	enum ibv_qp_state from; /* the state before it */
	const struct ibv_qp_attr *attr;
	int mask;
	int err; /* the call's result */
	struct adv_check_port port;
	bool peer_is_here; /* ah_attr.grh.dgid is a GID of this machine */
};

/* Checks a call that was made, and records the new attributes in `qp` if the call has succeeded. If
 * librdmacm made it, the application has not chosen the values. Needs the lock of report.h. */
void adv_check_modified(struct adv_check_call *call, struct adv_check_qp *qp,
			const struct adv_check_change *change);

#endif
