/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the events of a simulation are. */
#ifndef ADV_FABRIC_NETWORK_EVENT_KINDS_H
#define ADV_FABRIC_NETWORK_EVENT_KINDS_H

/* Kinds of events: the kind is in the upper 4 bits, an index in the others. Events of one time are
 * processed in the order of kinds, then of indices. A host or switch has at most one event of a
 * kind and index at a time, except timers that no longer apply, so the order is complete. */
enum adv_due {
	ADV_DUE_SETTLE, /* switch: frames were sent, see departure.h */
	ADV_DUE_SENT,	/* wire: the frame was sent */
	ADV_DUE_ARRIVE, /* wire: the oldest of its flying frames was received completely */
	ADV_DUE_PAUSE,	/* wire: a received pause frame takes effect */
	ADV_DUE_SWITCH, /* switch: its deadline */
	ADV_DUE_HOST,	/* host: the deadline of the engine or of a pause */
	ADV_DUE_DRAIN,	/* host: it is slow and has processed a frame */
	ADV_DUE_REPEAT, /* host: it repeats its pauses */
	ADV_DUE_STORM,	/* storm: it begins or ends */
	ADV_DUE_START,	/* transfer: it begins */
	ADV_DUE_FAILED, /* transfer: it failed, and what waits for it learns it */
	ADV_DUE_CABLE,	/* change of a cable: it fails or works, or routes heed it */
	ADV_DUE_CHECK,	/* search for a deadlock */
	ADV_DUE_SAMPLE,
};

#define ADV_DUE_SHIFT 28
#define ADV_DUE_INDEX ((1u << ADV_DUE_SHIFT) - 1)

#endif
