/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The common header of management datagrams (IBTA vol. 1, 13.4). The structure is in host order.
 * Pure functions on the caller's buffers.
 */
#ifndef ADV_NIC_WIRE_MAD_H
#define ADV_NIC_WIRE_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADV_MAD_LEN	     256
#define ADV_MAD_HEADER_LEN   24

#define ADV_MAD_BASE_VERSION 1

/* Q_Key and number of QP1 (IBTA 13.5.3). */
#define ADV_GSI_QKEY 0x80010000u
#define ADV_GSI_QPN  1u

enum adv_mad_class { ADV_MAD_CLASS_CM = 0x07 };
enum adv_mad_method { ADV_MAD_METHOD_SEND = 0x03 };

struct adv_mad_header {
	uint8_t base_version;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t method; /* including the response bit, 0x80 */
	uint16_t status;
	uint16_t class_specific;
	uint64_t tid; /* transaction ID; a response has the ID of its request */
	uint16_t attribute;
	uint32_t modifier; /* attribute modifier */
};

/* Decodes the header. False if there are fewer than ADV_MAD_HEADER_LEN bytes. Accepts any values.
 */
bool adv_mad_header_decode(const uint8_t *p, size_t len, struct adv_mad_header *h);

/* Writes all ADV_MAD_HEADER_LEN bytes. Reserved bytes are 0. */
void adv_mad_header_encode(const struct adv_mad_header *h, uint8_t out[ADV_MAD_HEADER_LEN]);

#endif
