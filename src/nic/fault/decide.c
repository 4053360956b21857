/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/fault/decide.h"

#include "base/number.h"

#define EVENT_RETRY 10000000ull /* ns */

void adv_fault_packet_read(struct adv_fault_packet *p, bool tx, const struct adv_gid *peer,
			   enum adv_ecn ecn, const uint8_t *data, size_t len)
{
	const struct adv_opcode_info *info;

	*p = (struct adv_fault_packet){.tx = tx, .peer = peer, .ecn = ecn};
	if (len < ADV_BTH_LEN)
		return;
	p->is_packet = true;
	p->opcode = data[0];
	p->dest_qpn = (uint32_t)data[5] << 16 | (uint32_t)data[6] << 8 | data[7];
	p->psn = (uint32_t)data[9] << 16 | (uint32_t)data[10] << 8 | data[11];
	info = &adv_opcode_table[p->opcode];
	/* An AETH is always the first of the extended headers. */
	if ((info->headers & ADV_HAS_AETH) && len > ADV_BTH_LEN)
		p->syndrome = data[ADV_BTH_LEN];
}

void adv_fault_begin(struct adv_fault_state *s, const struct adv_fault_plan *plan, uint64_t now)
{
	memset(s, 0, sizeof(*s));
	s->plan = *plan;
	s->start = now;
	adv_rng_seed(&s->rng, plan->seed);
}

/* ---- which packets match a rule ---- */

static bool matches_kind(const struct adv_fault_rule *r, const struct adv_fault_packet *p)
{
	if (!r->has_kinds)
		return true;
	if (!p->is_packet)
		return false;
	return adv_fault_kinds_has(&r->kinds, adv_fault_kind_of(p->opcode, p->syndrome)) ||
	       ((p->opcode & ADV_SERVICE_MASK) == ADV_SERVICE_UD && p->dest_qpn == 1 &&
		adv_fault_kinds_has(&r->kinds, ADV_FAULT_KIND_CM));
}

static bool matches_peer(const struct adv_fault_rule *r, const struct adv_gid *peer)
{
	unsigned bytes = r->peer_bits / 8, bits = r->peer_bits % 8;

	if (memcmp(r->peer.raw, peer->raw, bytes) != 0)
		return false;
	return bits == 0 ||
	       ((r->peer.raw[bytes] ^ peer->raw[bytes]) & (0xff00 >> bits & 0xff)) == 0;
}

static bool matches_packet(const struct adv_fault_rule *r, const struct adv_fault_packet *p,
			   uint64_t since)
{
	if (!(p->tx ? r->tx : r->rx) || since < r->from || (r->until && since >= r->until))
		return false;
	/* A network marks only packets that announce ECN (ECT) and are not marked yet. */
	if (r->action == ADV_FAULT_MARK && p->ecn != ADV_ECN_ECT0 && p->ecn != ADV_ECN_ECT1)
		return false;
	if (!matches_kind(r, p) || !matches_peer(r, p->peer))
		return false;
	if (r->has_qpn &&
	    (!p->is_packet || p->dest_qpn < r->qpn_first || p->dest_qpn > r->qpn_last))
		return false;
	return !r->has_psn ||
	       (p->is_packet && ((p->psn - r->psn_first) & ADV_PSN_MASK) <=
					((r->psn_last - r->psn_first) & ADV_PSN_MASK));
}

static bool roll_hit(struct adv_fault_state *s, const struct adv_fault_rule *r,
		     struct adv_fault_rule_state *rs)
{
	rs->seen++;
	if (r->nth_first && (rs->seen < r->nth_first || rs->seen > r->nth_last))
		return false;
	if (r->every && rs->seen % r->every != 0)
		return false;
	if (r->times && rs->hits >= r->times)
		return false;
	if (r->chance != ADV_FAULT_CERTAIN &&
	    adv_rng_below(&s->rng, ADV_FAULT_CERTAIN) >= r->chance)
		return false;
	rs->hits++;
	return true;
}

/* ---- verdict ---- */

static int32_t clamp_delta(int32_t v, int32_t limit)
{
	return v > limit ? limit : v < -limit ? -limit : v;
}

/* Adds a corruption to the verdict. Several rules may corrupt one packet. The receiver detects the
 * damage if one of the corruptions is detectable. */
static void add_corruption(const struct adv_fault_rule *r, uint64_t dice,
			   struct adv_fault_verdict *v)
{
	v->icrc_right = r->icrc_right && (v->icrc_right || !v->corrupt);
	v->corrupt = true;
	v->bits = (unsigned)clamp_delta((int32_t)(v->bits + r->count), ADV_FAULT_BITS_MAX);
	v->length = clamp_delta(v->length + r->length, ADV_FAULT_LENGTH_MAX);
	v->dice ^= dice;
}

static void apply_rule(struct adv_fault_state *s, const struct adv_fault_rule *r,
		       struct adv_fault_rule_state *rs, uint64_t now, struct adv_fault_verdict *v)
{
	switch (r->action) {
	case ADV_FAULT_DROP:
	case ADV_FAULT_PORT_DOWN:
	case ADV_FAULT_DEVICE_FATAL:
		v->drop = true;
		break;
	case ADV_FAULT_DUPLICATE:
		v->copies += r->count;
		v->after = adv_number_max(v->after, r->time);
		break;
	case ADV_FAULT_REORDER:
		v->behind = (unsigned)adv_number_max(v->behind, r->count);
		v->hold = adv_number_max(v->hold, r->time);
		break;
	case ADV_FAULT_CORRUPT:
		add_corruption(r, adv_rng_next(&s->rng), v);
		break;
	case ADV_FAULT_DELAY:
		v->delay += r->time + (r->jitter ? adv_rng_below(&s->rng, r->jitter + 1) : 0);
		break;
	case ADV_FAULT_MARK:
		v->mark = true;
		break;
	case ADV_FAULT_DOWN:
		v->drop = true;
		rs->down_until = now + r->time;
		break;
	default:
		break;
	}
	s->counters.hits[r->action]++;
}

bool adv_fault_decide(struct adv_fault_state *s, uint64_t now, const struct adv_fault_packet *p,
		      struct adv_fault_verdict *v)
{
	bool any = false;

	memset(v, 0, sizeof(*v));
	s->counters.packets++;
	for (unsigned i = 0; i < s->plan.count; i++) {
		const struct adv_fault_rule *r = &s->plan.rule[i];
		struct adv_fault_rule_state *rs = &s->rule[i];

		if (!matches_packet(r, p, now - s->start))
			continue;
		/* An outage that began earlier drops all packets that match. */
		if (now < rs->down_until) {
			s->counters.hits[ADV_FAULT_DOWN]++;
			v->drop = true;
		} else if (roll_hit(s, r, rs)) {
			apply_rule(s, r, rs, now, v);
		} else {
			continue;
		}
		any = true;
		if (v->drop)
			break;
	}
	if (v->copies > ADV_FAULT_COPIES_MAX)
		v->copies = ADV_FAULT_COPIES_MAX;
	return any;
}

/* ---- work requests ---- */

static bool matches_work(const struct adv_fault_rule *r, const struct adv_fault_work *w,
			 uint64_t since)
{
	return r->action == w->action && since >= r->from && (!r->until || since < r->until) &&
	       (!r->queues || (r->queues & 1u << w->queue)) &&
	       (!r->has_kinds || adv_fault_kinds_has(&r->kinds, w->opcode)) &&
	       (!r->has_qpn || (w->qpn >= r->qpn_first && w->qpn <= r->qpn_last));
}

uint32_t adv_fault_decide_work(struct adv_fault_state *s, uint64_t now,
			       const struct adv_fault_work *w)
{
	for (unsigned i = 0; i < s->plan.count; i++) {
		const struct adv_fault_rule *r = &s->plan.rule[i];

		if (!matches_work(r, w, now - s->start) || !roll_hit(s, r, &s->rule[i]))
			continue;
		s->counters.hits[r->action]++;
		if (r->action == ADV_FAULT_TEAR)
			return (uint32_t)r->time;
		return r->action == ADV_FAULT_RNR ? 1 : r->value;
	}
	return 0;
}

/* ---- the device ---- */

static bool is_active(const struct adv_fault_state *s, uint64_t now, enum adv_fault_action action)
{
	uint64_t since = now - s->start;

	for (unsigned i = 0; i < s->plan.count; i++) {
		const struct adv_fault_rule *r = &s->plan.rule[i];

		if (r->action == action && since >= r->from && (!r->until || since < r->until))
			return true;
	}
	return false;
}

bool adv_fault_port_is_down(const struct adv_fault_state *s, uint64_t now)
{
	return is_active(s, now, ADV_FAULT_PORT_DOWN);
}

bool adv_fault_device_is_dead(const struct adv_fault_state *s, uint64_t now)
{
	return is_active(s, now, ADV_FAULT_DEVICE_FATAL);
}

bool adv_fault_port_blinked(struct adv_fault_state *s, uint64_t now)
{
	uint64_t since = now - s->start;
	bool blinked = false;

	for (unsigned i = 0; i < s->plan.count; i++) {
		const struct adv_fault_rule *r = &s->plan.rule[i];

		if (r->action == ADV_FAULT_PORT_DOWN && r->from >= s->port_asked &&
		    r->until <= since)
			blinked = true;
	}
	s->port_asked = since + 1;
	return blinked && !adv_fault_port_is_down(s, now);
}

void adv_fault_raise_events(struct adv_fault_state *s, uint64_t now, adv_fault_raise_fn *raise,
			    void *user)
{
	if (now < s->again)
		return;
	s->again = 0;
	for (unsigned i = 0; i < s->plan.count; i++) {
		const struct adv_fault_rule *r = &s->plan.rule[i];
		unsigned raised;

		if (r->action != ADV_FAULT_EVENT || s->rule[i].hits || now - s->start < r->from)
			continue;
		raised = raise(user, r);
		s->rule[i].hits = raised;
		s->counters.hits[ADV_FAULT_EVENT] += raised;
		if (!raised)
			s->again = now + EVENT_RETRY;
	}
}

uint64_t adv_fault_device_due(const struct adv_fault_state *s, uint64_t now)
{
	uint64_t next = UINT64_MAX, since = now - s->start;

	for (unsigned i = 0; i < s->plan.count; i++) {
		const struct adv_fault_rule *r = &s->plan.rule[i];

		if (!(1u << r->action & ADV_FAULT_OF_DEVICE))
			continue;
		if (r->from > since && r->from < next)
			next = r->from;
		if (r->until > since && r->until < next)
			next = r->until;
	}
	next = next == UINT64_MAX ? next : s->start + next;
	return s->again > now && s->again < next ? s->again : next;
}

/* ---- corruption ---- */

uint32_t adv_fault_alter(const struct adv_fault_verdict *v, uint8_t *data, uint32_t len,
			 uint32_t room)
{
	struct adv_rng rng;

	adv_rng_seed(&rng, v->dice);
	if (v->length < 0) {
		uint32_t cut = (uint32_t)-v->length;
		uint32_t most = len > ADV_BTH_LEN ? len - ADV_BTH_LEN : 0;

		len -= cut < most ? cut : most;
	}
	for (int32_t i = 0; i < v->length && len < room; i++)
		data[len++] = (uint8_t)adv_rng_next(&rng);
	for (unsigned i = 0; i < v->bits && len; i++) {
		uint64_t bit = adv_rng_below(&rng, 8ull * len);

		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	return len;
}
