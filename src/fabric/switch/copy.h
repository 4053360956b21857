/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Copies of what the queries of switches and egresses return, to another rank (ranks.h), which has
 * the same switch without frames. */
#ifndef ADV_FABRIC_SWITCH_COPY_H
#define ADV_FABRIC_SWITCH_COPY_H

#include "fabric/switch/egress.h"
#include "fabric/network/mail.h"
#include "fabric/switch/switch.h"

/* Which of the changing values are copied. */
struct adv_switch_copy {
	bool take_peaks; /* adv_egress_take_peak() of all queues */
	bool stuck;	 /* frames of paused queues, as the search for deadlocks needs them */
};

void adv_egress_write(struct adv_egress *e, struct adv_switch_copy what, struct adv_mail *m);
/* False: the mail is malformed. */
bool adv_egress_read(struct adv_egress *e, struct adv_mail_reader *r);

void adv_switch_write(struct adv_switch *s, struct adv_switch_copy what, struct adv_mail *m);
/* The stuck frames of an input port become one, of the switch's pool. False: the mail is malformed,
 * or there is no memory (pool.failed). */
bool adv_switch_read(struct adv_switch *s, struct adv_switch_copy what, struct adv_mail_reader *r);

#endif
