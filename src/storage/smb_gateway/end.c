/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a client of the SMB gateway. */
#include "storage/smb_gateway/session_internal.h"

void adv_smb_session_end(struct adv_smb_session *s, const char *why)
{
	if (s->closing)
		return;
	s->closing = true;
	if (why)
		adv_gateway_report(&s->gateway->log, ADV_LOG_WARN, "%s: %s", s->peer, why);
	adv_smb_direct_close(s->direct);
}
