/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Refusal of a request by the responder. */
#ifndef ADV_NIC_RESPONDER_REFUSAL_H
#define ADV_NIC_RESPONDER_REFUSAL_H

#include "nic/engine/engine.h"
#include "nic/wire/headers.h"

/* NAK, event and status of a refused request. */
struct adv_refusal {
	enum adv_nak_code nak;
	enum ibv_event_type event; /* event at the responder if no receive request is in use */
	enum ibv_wc_status status; /* status of the receive request in use, if any */
};

struct adv_refusal adv_refusal_of(enum adv_vendor_err why);

#endif
