/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a client of the SMB gateway. */
#include <stdio.h>

#include "gateway/smb_reverse_internal.h"
#include "gateway/smb_session_internal.h"

void adv_smb_session_end(struct adv_smb_session *s, const char *why)
{
	if (s->closing)
		return;
	s->closing = true;
	if (why)
		fprintf(stderr, "%s: %s\n", s->peer, why);
	adv_smb_direct_close(s->direct);
}

void adv_smb_reverse_end(struct adv_smb_reverse *s, const char *why)
{
	if (s->closing)
		return;
	s->closing = true;
	if (why)
		fprintf(stderr, "%s: %s\n", s->peer, why);
	adv_smb_direct_close(s->direct);
}
