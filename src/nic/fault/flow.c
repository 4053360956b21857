/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/fault/flow.h"

#define DOUBLINGS_MOST 9 /* 102 s, as with TCP_RTO_MAX of 120 s */

bool adv_fault_flow_fits(const struct adv_fault_rule *r)
{
	if (!(1u << r->action & ADV_FAULT_OF_STREAMS))
		return false;
	if (!(1u << r->action & ADV_FAULT_OF_PACKETS))
		return true;
	return !r->has_kinds && !r->has_psn && !r->length && !r->icrc_right;
}

/* The bytes are lost: TCP sends them again after its timeout. */
static void lose_bytes(struct adv_fault_flow *f, uint64_t now)
{
	f->until = now + (ADV_FAULT_RTO_MIN_NS
			  << (f->losses < DOUBLINGS_MOST ? f->losses : DOUBLINGS_MOST));
	f->losses++;
}

enum adv_fault_flow_verdict adv_fault_flow_decide(struct adv_fault_flow *f,
						  struct adv_fault_state *s, uint64_t now,
						  const struct adv_fault_packet *p, bool crc)
{
	struct adv_fault_verdict v;
	bool damaged = f->damaged;

	if (now < f->until)
		return ADV_FAULT_FLOW_WAITS;
	f->damaged = false;
	if (!f->decided) {
		(void)adv_fault_decide(s, now, p, &v);
		if (v.drop || (v.corrupt && !crc)) {
			lose_bytes(f, now);
			return ADV_FAULT_FLOW_WAITS;
		}
		damaged = v.corrupt;
		if (v.delay) {
			f->until = now + v.delay;
			f->decided = true;
			f->damaged = damaged;
			return ADV_FAULT_FLOW_WAITS;
		}
	}
	f->decided = false;
	f->losses = 0;
	return damaged ? ADV_FAULT_FLOW_DAMAGED : ADV_FAULT_FLOW_PASSES;
}
