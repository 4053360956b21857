/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "nic/wire/gid.h"

#include <arpa/inet.h>

const char *adv_gid_text(const struct adv_gid *gid, char text[ADV_GID_TEXT_LENGTH])
{
	if (adv_gid_is_ipv4(gid))
		inet_ntop(AF_INET, gid->raw + 12, text, ADV_GID_TEXT_LENGTH);
	else
		inet_ntop(AF_INET6, gid->raw, text, ADV_GID_TEXT_LENGTH);
	return text;
}
