"""The UID that the kubelet gives a static pod without metadata.uid: a hash of the pod as it was decoded.

``type_table`` has the types of ``pkg/apis/core`` by release. ``amounts``, ``defaults`` and ``image`` decode the
manifest. ``dump`` prints the pod as Go's spew library does, and ``uid`` hashes the text. ``manifest`` is the entry.
"""
