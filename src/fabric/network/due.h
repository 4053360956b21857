/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The node that processes an event. */
#ifndef ADV_FABRIC_NETWORK_DUE_H
#define ADV_FABRIC_NETWORK_DUE_H

#include "fabric/network/internal.h"

/* No node: an event that looks at all of them, or is of a transfer. */
#define ADV_NO_NODE UINT32_MAX

/* Returns the node of an event: a host, or a switch after all hosts; or ADV_NO_NODE. */
static inline uint32_t adv_fabric_node_of(const struct adv_fabric *f, uint32_t what)
{
	uint32_t i = what & ADV_DUE_INDEX;

	switch ((enum adv_due)(what >> ADV_DUE_SHIFT)) {
	case ADV_DUE_SENT:
		return f->wire[i].from.node;
	case ADV_DUE_ARRIVE:
	case ADV_DUE_PAUSE:
		return f->wire[i].to.node;
	case ADV_DUE_SETTLE:
	case ADV_DUE_SWITCH:
		return f->hosts + i;
	case ADV_DUE_HOST:
	case ADV_DUE_DRAIN:
	case ADV_DUE_REPEAT:
		return i;
	default:
		return ADV_NO_NODE;
	}
}

#endif
