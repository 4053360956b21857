/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/ucma/mpa_socket.h"

#include <errno.h>
#include <sys/socket.h>

enum adv_mpa_status adv_mpa_socket_receive(int fd, struct adv_mpa_received *r,
					   enum adv_mpa_kind kind, struct adv_mpa_frame *f,
					   int *error)
{
	*error = 0;
	for (;;) {
		size_t used, want = ADV_MPA_FRAME_LEN;
		enum adv_mpa_status status = adv_mpa_decode(r->bytes, r->have, kind, f, &used);
		ssize_t n;

		if (status != ADV_MPA_MORE)
			return status;
		if (r->have >= ADV_MPA_FRAME_LEN)
			want += (size_t)r->bytes[ADV_MPA_FRAME_LEN - 2] << 8 |
				r->bytes[ADV_MPA_FRAME_LEN - 1];
		if (want <= r->have || want > sizeof(r->bytes))
			return ADV_MPA_BAD_LENGTH;
		n = recv(fd, r->bytes + r->have, want - r->have, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return ADV_MPA_MORE;
		if (n <= 0) {
			*error = n < 0 ? errno : ECONNRESET;
			return ADV_MPA_MORE;
		}
		r->have += (uint16_t)n;
	}
}

int adv_mpa_socket_send(int fd, const struct adv_mpa_frame *f)
{
	uint8_t out[ADV_MPA_FRAME_LEN + ADV_MPA_PRIVATE_MAX];
	size_t len = adv_mpa_encode(f, out);

	if (!len)
		return EINVAL;
	return send(fd, out, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len ? 0 : ECONNABORTED;
}
