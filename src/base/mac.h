/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef ADV_BASE_MAC_H
#define ADV_BASE_MAC_H

#include <stdint.h>
#include <stdio.h>

#define ADV_MAC_TEXT 18

/* Writes a MAC address such as "52:54:00:77:00:02". Returns text. */
static inline const char *adv_mac_print(const uint8_t mac[6], char text[ADV_MAC_TEXT])
{
	snprintf(text, ADV_MAC_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
	return text;
}

#endif
