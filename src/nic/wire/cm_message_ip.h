/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * IP addressing of the CM (IBTA vol. 1, annex A11): service IDs for IP ports, and the header with
 * the IP addresses at the start of the private data of REQ and SIDR_REQ.
 */
#ifndef ADV_NIC_WIRE_CM_MESSAGE_IP_H
#define ADV_NIC_WIRE_CM_MESSAGE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nic/wire/packet.h"

#define ADV_CM_IP_HEADER_LEN 36

/* The most private data that a consumer may pass, in bytes, behind the header in a REQ and a
 * SIDR_REQ. */
#define ADV_CM_REQ_PRIVATE	56
#define ADV_CM_REP_PRIVATE	196
#define ADV_CM_REJ_PRIVATE	148
#define ADV_CM_SIDR_REQ_PRIVATE 180
#define ADV_CM_SIDR_REP_PRIVATE 136

/* A port space: byte 5 of a service ID. It is an IP protocol number, or 0x3f for RDMA_PS_IB. */
enum adv_cm_ip_protocol { ADV_CM_IP_TCP = 0x06, ADV_CM_IP_UDP = 0x11 };

struct adv_cm_ip_header {
	uint8_t major; /* major and minor: version of the header, 4 bits each: 0.0 */
	uint8_t minor;
	uint8_t ip_version;    /* 4 or 6 */
	uint16_t source_port;  /* host order; the service ID has the destination port */
	struct adv_gid source; /* IPv4: mapped; 0.0.0.0 is ::ffff:0:0 */
	struct adv_gid destination;
};

/*
 * Decodes the start of private data. False if there are fewer than ADV_CM_IP_HEADER_LEN bytes, the
 * version of the header is not 0.x, or the IP version is neither 4 nor 6. Ignores the twelve bytes
 * before an IPv4 address.
 */
bool adv_cm_ip_header_decode(const uint8_t *p, size_t len, struct adv_cm_ip_header *h);

/* Writes all ADV_CM_IP_HEADER_LEN bytes. */
void adv_cm_ip_header_encode(const struct adv_cm_ip_header *h, uint8_t out[ADV_CM_IP_HEADER_LEN]);

/*
 * Returns the service ID for a port of an RDMA port space (RDMA_PS_TCP is 0x0106, RDMA_PS_UDP
 * 0x0111, RDMA_PS_IPOIB 0x0002, RDMA_PS_IB 0x013f), like Linux's rdma_get_service_id(). Host order.
 */
static inline uint64_t adv_cm_service_id(uint16_t port_space, uint16_t port)
{
	return (uint64_t)port_space << 16 | port;
}

#endif
