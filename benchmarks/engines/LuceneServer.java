import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.file.Path;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.analysis.tokenattributes.TermFrequencyAttribute;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.MMapDirectory;

/** Indexes CSR rows of (term, frequency) and answers queries read from standard input. Big-endian throughout. */
public class LuceneServer {
    /** A document's terms, each once, with its frequency. */
    static final class Row extends TokenStream {
        private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
        private final TermFrequencyAttribute frequency = addAttribute(TermFrequencyAttribute.class);
        private int[] terms = new int[0];
        private int[] counts = new int[0];
        private int next;

        void set(int[] newTerms, int[] newCounts) {
            terms = newTerms;
            counts = newCounts;
        }

        @Override
        public void reset() {
            next = 0;
        }

        @Override
        public boolean incrementToken() {
            if (next == terms.length) {
                return false;
            }
            clearAttributes();
            term.append(Integer.toString(terms[next]));
            frequency.setTermFrequency(counts[next]);
            next++;
            return true;
        }
    }

    static DataInputStream input(Path folder, String name) throws IOException {
        return new DataInputStream(new BufferedInputStream(new FileInputStream(folder.resolve(name).toFile()), 1 << 20));
    }

    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[0]);
        int documents = Integer.parseInt(args[1]);
        BM25Similarity bm25 = new BM25Similarity(Float.parseFloat(args[2]), Float.parseFloat(args[3]));
        MMapDirectory directory = new MMapDirectory(folder.resolve("index"));
        build(folder, documents, bm25, directory);

        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        out.writeBytes("DONE");
        out.flush();
        IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(directory));
        searcher.setSimilarity(bm25);
        searcher.setQueryCache(null);
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        while (true) {
            int k;
            try {
                k = in.readInt();
            } catch (EOFException end) {
                return;
            }
            int[] terms = new int[in.readInt()];
            for (int i = 0; i < terms.length; i++) {
                terms[i] = in.readInt();
            }
            BooleanQuery.Builder builder = new BooleanQuery.Builder();
            for (int term : terms) {
                Query clause = new TermQuery(new Term("t", Integer.toString(term)));
                float weight = in.readFloat();
                builder.add(weight == 1f ? clause : new BoostQuery(clause, weight), BooleanClause.Occur.SHOULD);
            }
            ScoreDoc[] hits = searcher.search(builder.build(), k).scoreDocs;
            out.writeInt(hits.length);
            for (ScoreDoc hit : hits) {
                out.writeInt(hit.doc);
            }
            out.flush();
        }
    }

    static void build(Path folder, int documents, BM25Similarity bm25, MMapDirectory directory) throws IOException {
        IndexWriterConfig config = new IndexWriterConfig();
        config.setSimilarity(bm25);
        config.setRAMBufferSizeMB(1900);
        config.setUseCompoundFile(false);
        FieldType type = new FieldType();
        type.setTokenized(true);
        type.setIndexOptions(IndexOptions.DOCS_AND_FREQS);
        type.freeze();
        Row row = new Row();
        Document document = new Document();
        document.add(new Field("t", row, type));
        try (IndexWriter writer = new IndexWriter(directory, config);
                DataInputStream rows = input(folder, "rows");
                DataInputStream terms = input(folder, "terms");
                DataInputStream frequencies = input(folder, "tf")) {
            long start = rows.readLong();
            for (int d = 0; d < documents; d++) {
                long end = rows.readLong();
                int[] t = new int[(int) (end - start)];
                int[] f = new int[t.length];
                for (int i = 0; i < t.length; i++) {
                    t[i] = terms.readInt();
                    f[i] = frequencies.readInt();
                }
                row.set(t, f);
                writer.addDocument(document);
                start = end;
            }
            writer.forceMerge(1);
            writer.commit();
        }
    }
}
